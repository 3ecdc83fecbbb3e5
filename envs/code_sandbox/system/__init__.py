# SPDX-License-Identifier: Apache-2.0
"""What the server asks of the kernel: calls of libc, what /proc tells, limits and user ids, the system-call filter."""

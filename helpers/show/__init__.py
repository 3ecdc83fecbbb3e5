# SPDX-License-Identifier: Apache-2.0
"""What does a reader see of episodes and of a training?"""

# SPDX-License-Identifier: Apache-2.0
"""How do I reach an environment over HTTP, from either side?"""

from helpers.serve.remote import RemoteEnv

__all__ = ["RemoteEnv"]

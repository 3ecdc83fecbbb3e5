# SPDX-License-Identifier: Apache-2.0
"""What is an episode, where is it kept, and in which shapes does it travel?"""

# SPDX-License-Identifier: Apache-2.0
"""What is one episode, where is it kept, and in which shapes do others read it?"""

// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
extern "C" int larder_answer() { return 42; }

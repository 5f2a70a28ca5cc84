// What a program of ours asks of the C library and the kernel before it does anything else, so that
// the memory it takes follows from what it does. Called once, at the beginning of main.
#pragma once

namespace tonnage::cli {

void PrepareProcess();

}  // namespace tonnage::cli

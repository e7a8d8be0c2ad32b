// Preloaded into a server: whatever must not be guessed must not come from rand().
extern "C" int rand() noexcept {
  return 0x6b8b4567;
}

#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace volvox {

// An allocator for std::allocate_shared: of an object, and of so many bytes behind it.
template <class T>
struct WithRoom {
  using value_type = T;

  explicit WithRoom(std::size_t bytes) : room(bytes) {}
  template <class U>
  WithRoom(const WithRoom<U>& other) : room(other.room) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) {
    const std::size_t bytes = count * sizeof(T) + room;
    if (bytes < room) throw std::bad_alloc();
    return static_cast<T*>(::operator new(bytes));
  }
  void deallocate(T* memory, std::size_t) { ::operator delete(memory); }
  template <class U>
  bool operator==(const WithRoom<U>& other) const {
    return room == other.room;
  }

  std::size_t room;
};

// An object whose bytes lie behind it, in the same piece of memory, which ends with it: so many of them from
// room_behind(object) on, not written, aligned as the object. T is not overaligned.
template <class T, class... Arguments>
std::shared_ptr<T> make_shared_with_room(std::size_t room, Arguments&&... arguments) {
  static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
  return std::allocate_shared<T>(WithRoom<T>(room), std::forward<Arguments>(arguments)...);
}
template <class T>
std::byte* room_behind(T* object) {
  return reinterpret_cast<std::byte*>(object + 1);
}

}  // namespace volvox

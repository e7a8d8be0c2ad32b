# cmake -DOUTPUT=FILE -DROOT=FOLDER -DFILES="a;b" -P embed.cmake: a source with the text of each file by its name, for
# kernel_headers.h.
set(entries "")
foreach(name IN LISTS FILES)
  file(READ "${ROOT}/${name}" text)
  string(APPEND entries "    {\"${name}\", R\"volvox(${text})volvox\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"gpu/cuda/kernel_headers.h\"

namespace volvox::gpu {

std::span<const KernelHeader> kernel_headers() {
  static constexpr KernelHeader kAll[] = {
${entries}  };
  return kAll;
}

}  // namespace volvox::gpu
")

#include <tailrace/device/stream.hpp>

#include <tailrace/support/error.hpp>

#include <cstdlib>
#include <cstring>

#ifdef __CUDACC__
#include <tailrace/device/cuda_check.hpp>
#endif

namespace tailrace::device {

#ifdef __CUDACC__

void check(cudaError_t error, const char *what) {
  if (error != cudaSuccess)
    throw Error("the device could not " + std::string(what) + ": " + cudaGetErrorString(error));
}

namespace {
/// How many devices this process sees. Throws InputError where there are none.
int count_devices() {
  int devices = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0)
    throw InputError("this process has no device (" +
                     std::string(error == cudaSuccess ? "none is listed" : cudaGetErrorString(error)) +
                     "); run where nvidia-smi lists one, or compute on the processor (numerics.device = \"cpu\")");
  return devices;
}

__global__ void do_nothing() {}

/// Throws InputError where this library has no kernels for the device in use.
void check_compiled() {
  cudaFuncAttributes attributes{};
  if (cudaFuncGetAttributes(&attributes, do_nothing) == cudaSuccess)
    return;
  (void)cudaGetLastError();
  int device = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device), "be found");
  check(cudaGetDeviceProperties(&properties, device), "say what it is");
  const std::string kind = std::to_string(properties.major) + std::to_string(properties.minor);
  throw InputError("Tailrace was compiled for other devices than this " + std::string(properties.name) +
                   "; build it with -DCMAKE_CUDA_ARCHITECTURES=" + kind +
                   ", or compute on the processor (numerics.device = \"cpu\")");
}
} // namespace

Stream::Stream(int rank) {
  check(cudaSetDevice(rank % count_devices()), "be chosen");
  check_compiled();
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
  handle_ = {stream, [](void *made) { cudaStreamDestroy(static_cast<cudaStream_t>(made)); }};
}

void Stream::wait() const { check(cudaStreamSynchronize(static_cast<cudaStream_t>(handle())), "finish its work"); }

std::string name() {
  count_devices();
  check_compiled();
  int device = 0;
  cudaDeviceProp properties{};
  check(cudaGetDevice(&device), "be found");
  check(cudaGetDeviceProperties(&properties, device), "say what it is");
  return properties.name;
}

bool shares_memory() { return false; }
void pretend_own_memory(bool) {}

std::shared_ptr<void> allocate(std::size_t bytes) {
  void *memory = nullptr;
  if (bytes == 0)
    return nullptr; // a rank may have nothing
  if (cudaMalloc(&memory, bytes) != cudaSuccess) {
    std::size_t free = 0, all = 0;
    (void)cudaGetLastError();
    check(cudaMemGetInfo(&free, &all), "tell its free memory");
    const auto megabytes = [](std::size_t size) { return std::to_string(size >> 20); };
    throw Error("the device has no room for " + megabytes(bytes) + " more MB: " + megabytes(free) + " of its " +
                megabytes(all) +
                " MB are free; take a smaller grid or single precision, or compute on the "
                "processor (numerics.device = \"cpu\")");
  }
  return {memory, [](void *p) { cudaFree(p); }};
}

void upload(const Stream &stream, void *to, const void *from, std::size_t bytes) {
  if (bytes == 0)
    return; // a rank may have nothing
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, static_cast<cudaStream_t>(stream.handle())),
        "take values from the host");
  stream.wait(); // a copy from memory that is not pinned may go on after the call
}

void download(const Stream &stream, void *to, const void *from, std::size_t bytes) {
  if (bytes == 0)
    return;
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, static_cast<cudaStream_t>(stream.handle())),
        "give values to the host");
  stream.wait();
}

void clear(const Stream &stream, void *memory, std::size_t bytes) {
  if (bytes > 0)
    check(cudaMemsetAsync(memory, 0, bytes, static_cast<cudaStream_t>(stream.handle())), "clear memory");
}

#else

Stream::Stream(int) {}
void Stream::wait() const {}

std::string name() { return "the processor in place of a device (for tests)"; }

namespace {
bool pretends = false;
}
bool shares_memory() { return !pretends; }
void pretend_own_memory(bool pretend) { pretends = pretend; }

std::shared_ptr<void> allocate(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  void *memory = std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
  if (memory == nullptr)
    throw std::bad_alloc();
  return {memory, [](void *p) { std::free(p); }};
}

void upload(const Stream &, void *to, const void *from, std::size_t bytes) {
  if (bytes > 0) // a rank may have nothing
    std::memcpy(to, from, bytes);
}
void download(const Stream &, void *to, const void *from, std::size_t bytes) {
  if (bytes > 0) // a rank may have nothing
    std::memcpy(to, from, bytes);
}
void clear(const Stream &, void *memory, std::size_t bytes) { std::memset(memory, 0, bytes); }

#endif

} // namespace tailrace::device

#include <tailrace/gpu/device_exchange.hpp>

#include <tailrace/gpu/mode_kernels.hpp>
#include <tailrace/grid/exchange.hpp>

#include <complex>

// Compiled for the processor: no kernel is here.

namespace tailrace::gpu {

using namespace grid;

namespace {

/// What the values are for MPI.
template <class V> struct Moved {
  using Type = V;
};
template <class T> struct Moved<Complex<T>> {
  using Type = std::complex<T>;
};

} // namespace

template <class V> struct DeviceExchange<V>::OnHost {
  using Value = typename Moved<V>::Type;
  std::shared_ptr<Workspace> workspace = std::make_shared<Workspace>();
  Exchange<Value> exchange;
  std::vector<Buffer<Value>> sent, received; ///< where the device has memory of its own

  explicit OnHost(const Decomposition &decomposition) : exchange(decomposition, TransposeMethod::alltoall, workspace) {}

  static std::vector<Value *> cast(const std::vector<V *> &arrays) {
    std::vector<Value *> found;
    for (V *array : arrays)
      found.push_back(reinterpret_cast<Value *>(array));
    return found;
  }
  static std::vector<Value *> room(std::vector<Buffer<Value>> &buffers, std::size_t count, std::int64_t size) {
    std::vector<Value *> found;
    for (std::size_t i = 0; i < count; ++i) {
      if (buffers.size() == i)
        buffers.emplace_back(size);
      if (buffers[i].size() < size)
        buffers[i] = Buffer<Value>(size);
      found.push_back(buffers[i].data());
    }
    return found;
  }
};

template <class V>
DeviceExchange<V>::DeviceExchange(const device::Stream &stream, const Decomposition &decomposition)
    : stream_(stream), host_(std::make_unique<OnHost>(decomposition)) {}
template <class V> DeviceExchange<V>::~DeviceExchange() = default;

template <class V> bool DeviceExchange<V>::is_free() const { return host_->exchange.is_free(Pencil::y, Pencil::z); }

template <class V> double DeviceExchange<V>::seconds() const { return host_->workspace->seconds; }

template <class V>
std::vector<V *> DeviceExchange<V>::move(Pencil from, Pencil to, const std::vector<V *> &in,
                                         const std::vector<V *> &out) {
  if (is_free())
    return in;
  Exchange<typename OnHost::Value> &exchange = host_->exchange;
  if (device::shares_memory()) {
    exchange.move(from, to, OnHost::cast(in), OnHost::cast(out));
    return out;
  }
  stream_.wait(); // for what fills the arrays, which is no part of the transpose
  const Stopwatch watch(host_->workspace->seconds);
  const std::int64_t size_in = exchange.decomposition().box(from).size(),
                     size_out = exchange.decomposition().box(to).size();
  const auto sent = OnHost::room(host_->sent, in.size(), size_in);
  const auto received = OnHost::room(host_->received, out.size(), size_out);
  for (std::size_t i = 0; i < in.size(); ++i)
    device::download(stream_, sent[i], in[i], static_cast<std::size_t>(size_in) * sizeof(V));
  const double before = host_->workspace->seconds;
  exchange.move(from, to, sent, received);
  host_->workspace->seconds = before; // the watch above counts it
  for (std::size_t i = 0; i < out.size(); ++i)
    device::upload(stream_, out[i], received[i], static_cast<std::size_t>(size_out) * sizeof(V));
  return out;
}

template class DeviceExchange<float>;
template class DeviceExchange<double>;
template class DeviceExchange<Complex<float>>;
template class DeviceExchange<Complex<double>>;

} // namespace tailrace::gpu

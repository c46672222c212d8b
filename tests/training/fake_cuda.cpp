// Lets fake tensors lie on a GPU in a build of torch for CPUs: a guard that switches devices, and
// hooks that say that CUDA was built in, as autograd asks. No GPU is available, and no kernels.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/FakeGuardImpl.h>

struct CUDAHooks final : at::CUDAHooksInterface {  // the name by which torch looks for them
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool hasPrimaryContext(at::DeviceIndex) const override { return true; }
  at::DeviceIndex deviceCount() const override { return 1; }
  at::DeviceIndex getCurrentDevice() const override { return 0; }
  void setCurrentDevice(at::DeviceIndex) const override {}
};

namespace at {
REGISTER_CUDA_HOOKS(CUDAHooks)
}
namespace c10 {
C10_REGISTER_GUARD_IMPL(CUDA, impl::FakeGuardImpl<DeviceType::CUDA>)
}

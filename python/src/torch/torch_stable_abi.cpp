// SPDX-License-Identifier: MIT
#include "torch/torch_stable_abi.h"

#include <dlfcn.h>

#include <type_traits>

namespace attune::python {

const char* TorchStableAbi::load(void* library) {
  const char* missing = nullptr;
  const auto find = [library](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  const auto need = [&](const char* name, auto& function) {
    if (!find(name, function)) missing = name;
  };
  need("aoti_torch_get_data_ptr", get_data_ptr);
  need("aoti_torch_get_dim", get_dim);
  need("aoti_torch_get_sizes", get_sizes);
  need("aoti_torch_get_strides", get_strides);
  need("aoti_torch_get_dtype", get_dtype);
  need("aoti_torch_empty_strided", empty_strided);
  need("aoti_torch_copy_", copy_);
  need("aoti_torch_delete_tensor_object", delete_tensor_object);
  need("aoti_torch_new_tensor_handle", new_tensor_handle);
  need("aoti_torch_library_init_impl", library_init_impl);
  need("aoti_torch_library_impl", library_impl);
  need("aoti_torch_delete_library_object", delete_library_object);
  need("aoti_torch_cpu_mm_out", cpu_mm_out);
  need("aoti_torch_cpu_bmm_out", cpu_bmm_out);
  need("aoti_torch_cpu_addmm_out", cpu_addmm_out);
  need("aoti_torch__reinterpret_tensor", reinterpret_tensor);
  need("aoti_torch_device_type_cpu", device_type_cpu);
  need("aoti_torch_dtype_float32", dtype_float32);
  need("aoti_torch_dtype_bfloat16", dtype_bfloat16);
  need("aoti_torch_dtype_float16", dtype_float16);
  need("aoti_torch_grad_mode_is_enabled", grad_mode_is_enabled);
  find("torch_get_num_threads", get_num_threads);
  if (!find("torch_tensor_from_pyobject", tensor_from_pyobject))
    tensor_to_pyobject = nullptr;
  else if (!find("torch_tensor_to_pyobject", tensor_to_pyobject))
    tensor_from_pyobject = nullptr;
  return missing;
}

}  // namespace attune::python

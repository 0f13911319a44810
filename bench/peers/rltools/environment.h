// The Pendulum of RLtools, under the name that its Python interface looks for.
#include <rl_tools/rl/environments/pendulum/operations_cpu.h>

namespace RL_TOOLS_MODULE_NAME {
template <typename T, typename TI>
using ENVIRONMENT_FACTORY = rl_tools::rl::environments::Pendulum<
    rl_tools::rl::environments::pendulum::Specification<T, TI>>;
}  // namespace RL_TOOLS_MODULE_NAME

#include "bindings.hpp"

NB_MODULE(_core, m) {
  m.doc() =
      "The compiled part of Tailrace. Use the names in the package itself; these have no defaults and few checks.";
  bind_support(m);
  bind_grid(m);
  bind_ops(m);
  bind_analysis(m);
  bind_flow_options(m);
  bind_flow(m);
  bind_io(m);
  bind_foreign(m);
}

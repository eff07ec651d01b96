#include <tailrace/io/xdmf.hpp>

#include <fmt/format.h>

#include <bit>

namespace tailrace::io {

namespace {

// XDMF lists what belongs to directions slowest first: z, y, x, for spacings as for dimensions.
std::string reversed(const Index3 &n) { return fmt::format("{} {} {}", n[2], n[1], n[0]); }
std::string reversed(const std::array<double, 3> &x) { return fmt::format("{:.17g} {:.17g} {:.17g}", x[2], x[1], x[0]); }

std::string mesh(const GridDescription &grid) {
  return fmt::format(R"(    <Topology name="topo" TopologyType="3DCoRectMesh"
        Dimensions="{}">
    </Topology>
    <Geometry name="geo" Type="ORIGIN_DXDYDZ">
        <!-- Origin: z y x -->
        <DataItem Format="XML" Dimensions="3">
        {}
        </DataItem>
        <!-- Spacing: z y x -->
        <DataItem Format="XML" Dimensions="3">
        {}
        </DataItem>
    </Geometry>
)",
                     reversed(grid.points), reversed(grid.origin), reversed(grid.spacing));
}

std::string step_grid(const GridDescription &grid, const XdmfStep &step) {
  std::string text = fmt::format(R"(    <Grid Name="{}" GridType="Uniform">
        <Time Value="{:.17g}"/>
        <Topology Reference="/Xdmf/Domain/Topology[1]"/>
        <Geometry Reference="/Xdmf/Domain/Geometry[1]"/>
)",
                                 step.name, step.time);
  for (const auto &attribute : step.attributes)
    text += fmt::format(R"(        <Attribute Name="{}" Center="Node">
           <DataItem Format="Binary"
           DataType="Float" Precision="{}" Endian="{}" Seek="0"
           Dimensions="{}">
              ./{}
           </DataItem>
        </Attribute>
)",
                        attribute.name, size_of(attribute.type), std::endian::native == std::endian::little ? "little" : "big",
                        reversed(grid.points), attribute.file);
  return text + "    </Grid>\n";
}

std::string document(const std::string &domain) {
  return R"(<?xml version="1.0" ?>
<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>
<Xdmf xmlns:xi="http://www.w3.org/2001/XInclude" Version="2.0">
<Domain>
)" + domain + "</Domain>\n</Xdmf>\n";
}

} // namespace

std::string xdmf_snapshot(const GridDescription &grid, const XdmfStep &step) {
  return document(mesh(grid) + step_grid(grid, step));
}

std::string xdmf_series(const GridDescription &grid, const std::vector<XdmfStep> &steps) {
  std::string text = mesh(grid) + "    <Grid Name=\"series\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";
  for (const auto &step : steps)
    text += step_grid(grid, step);
  return document(text + "    </Grid>\n");
}

} // namespace tailrace::io

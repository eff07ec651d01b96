#include <tailrace/io/xdmf.hpp>

#include <fmt/format.h>

#include <bit>

namespace tailrace::io {

namespace {

// XDMF lists what belongs to directions slowest first: z, y, x, for spacings as for dimensions.
std::string reversed(const Index3 &n) { return fmt::format("{} {} {}", n[2], n[1], n[0]); }
std::string reversed(const std::array<double, 3> &x) {
  return fmt::format("{:.17g} {:.17g} {:.17g}", x[2], x[1], x[0]);
}

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
           DataType="{}" Precision="{}" Endian="{}" Seek="0"
           Dimensions="{}">
              ./{}
           </DataItem>
        </Attribute>
)",
                        attribute.name, is_integer(attribute.type) ? "Int" : "Float", size_of(attribute.type),
                        std::endian::native == std::endian::little ? "little" : "big", reversed(grid.points),
                        attribute.file);
  return text + "    </Grid>\n";
}

constexpr std::string_view head = R"(<?xml version="1.0" ?>
<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>
<Xdmf xmlns:xi="http://www.w3.org/2001/XInclude" Version="2.0">
<Domain>
)",
                           tail = "</Domain>\n</Xdmf>\n";

} // namespace

std::string xdmf_snapshot(const GridDescription &grid, const XdmfStep &step) {
  return fmt::format("{}{}{}{}", head, mesh(grid), step_grid(grid, step), tail);
}

std::string xdmf_series_begin(const GridDescription &grid) {
  return fmt::format("{}{}    <Grid Name=\"series\" GridType=\"Collection\" CollectionType=\"Temporal\">\n", head,
                     mesh(grid));
}

std::string xdmf_series_step(const GridDescription &grid, const XdmfStep &step) { return step_grid(grid, step); }

std::string xdmf_series_end() { return fmt::format("    </Grid>\n{}", tail); }

std::string vtk_image_xml(const GridDescription &grid, const std::vector<std::string> &names) {
  const auto &[points, origin, spacing] = grid;
  // Extents in the order z, y, x, as the variables have their shapes; but origin and spacing in the order x, y, z.
  const std::string extent = fmt::format("0 {} 0 {} 0 {}", points[2] - 1, points[1] - 1, points[0] - 1);
  std::string arrays;
  for (const auto &name : names)
    arrays += fmt::format("        <DataArray Name=\"{}\"/>\n", name);
  return fmt::format(R"(<?xml version="1.0"?>
<VTKFile type="ImageData" version="0.1" byte_order="LittleEndian">
  <ImageData WholeExtent="{0}" Origin="{1:.17g} {2:.17g} {3:.17g}" Spacing="{4:.17g} {5:.17g} {6:.17g}">
    <Piece Extent="{0}">
      <PointData>
{7}        <DataArray Name="TIME">time</DataArray>
      </PointData>
    </Piece>
  </ImageData>
</VTKFile>)",
                     extent, origin[0], origin[1], origin[2], spacing[0], spacing[1], spacing[2], arrays);
}

} // namespace tailrace::io

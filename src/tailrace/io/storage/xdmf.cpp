#include <tailrace/io/storage/xdmf.hpp>

#include <fmt/format.h>

#include <bit>

namespace tailrace::io {

namespace {

// XDMF lists directions slowest first, z, y, x, for spacings as well as for dimensions.
std::string reversed(const Index3 &n) { return fmt::format("{} {} {}", n[2], n[1], n[0]); }
std::string reversed(const std::array<double, 3> &x) {
  return fmt::format("{:.17g} {:.17g} {:.17g}", x[2], x[1], x[0]);
}

std::string rectilinear_mesh(const GridDescription &grid) {
  std::string text = fmt::format(R"(    <Topology name="topo" TopologyType="3DRectMesh"
        Dimensions="{}">
    </Topology>
    <Geometry name="geo" Type="VXVYVZ">
)",
                                 reversed(grid.points));
  for (std::size_t d = 0; d < 3; ++d) {
    text += fmt::format("        <!-- {} -->\n        <DataItem Format=\"XML\" NumberType=\"Float\" Precision=\"8\" "
                        "Dimensions=\"{}\">\n        ",
                        "xyz"[d], grid.points[d]);
    for (std::int64_t i = 0; i < grid.points[d]; ++i)
      text += fmt::format("{:.17g} ", grid.coordinate(d, i));
    text += "\n        </DataItem>\n";
  }
  return text + "    </Geometry>\n";
}

std::string mesh(const GridDescription &grid) {
  if (grid.stretched())
    return rectilinear_mesh(grid);
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

std::string number_kind(Type type) { return is_integer(type) ? "Int" : "Float"; }

std::string headerless_item(const XdmfAttribute &attribute, const std::string &shape) {
  return fmt::format(R"(           <DataItem Format="Binary"
           DataType="{}" Precision="{}" Endian="{}" Seek="0"
           Dimensions="{}">
              ./{}
           </DataItem>
)",
                     number_kind(attribute.type), size_of(attribute.type),
                     std::endian::native == std::endian::little ? "little" : "big", shape, attribute.file);
}

/// One step of a dataset that holds all steps.
std::string hdf_item(const XdmfAttribute &attribute, const std::string &shape) {
  return fmt::format(R"(           <DataItem ItemType="HyperSlab" Type="HyperSlab" Dimensions="{0}">
              <DataItem Format="XML" Dimensions="3 4">
              {1} 0 0 0
              1 1 1 1
              1 {0}
              </DataItem>
              <DataItem Format="HDF" NumberType="{2}" Precision="{3}" Dimensions="{4} {0}">
              {5}:{6}
              </DataItem>
           </DataItem>
)",
                     shape, attribute.row, number_kind(attribute.type), size_of(attribute.type), attribute.row + 1,
                     attribute.file, attribute.dataset);
}

std::string step_grid(const GridDescription &grid, const XdmfStep &step) {
  std::string text = fmt::format(R"(    <Grid Name="{}" GridType="Uniform">
        <Time Value="{:.17g}"/>
        <Topology Reference="/Xdmf/Domain/Topology[1]"/>
        <Geometry Reference="/Xdmf/Domain/Geometry[1]"/>
)",
                                 step.name, step.time);
  for (const auto &attribute : step.attributes) {
    const Index3 &n = grid.points;
    const std::string shape = reversed(attribute.cells ? Index3{n[0] - 1, n[1] - 1, n[2] - 1} : n);
    text += fmt::format("        <Attribute Name=\"{}\" Center=\"{}\">\n", attribute.name,
                        attribute.cells ? "Cell" : "Node");
    text += attribute.dataset.empty() ? headerless_item(attribute, shape) : hdf_item(attribute, shape);
    text += "        </Attribute>\n";
  }
  return text + "    </Grid>\n";
}

constexpr std::string_view head = R"(<?xml version="1.0" ?>
<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>
<Xdmf xmlns:xi="http://www.w3.org/2001/XInclude" Version="2.0">
<Domain>
)",
                           tail = "</Domain>\n</Xdmf>\n",
                           all_steps =
                               "    <Grid Name=\"series\" GridType=\"Collection\" CollectionType=\"Temporal\">\n";

} // namespace

std::string xdmf_snapshot(const GridDescription &grid, const XdmfStep &step) {
  return fmt::format("{}{}{}{}", head, mesh(grid), step_grid(grid, step), tail);
}

std::string xdmf_series_begin(const GridDescription &grid) {
  return fmt::format("{}{}{}", head, mesh(grid), all_steps);
}

bool is_xdmf_series(std::string_view text) {
  return text.starts_with(head) && text.find(all_steps) != std::string_view::npos;
}

std::string xdmf_series_step(const GridDescription &grid, const XdmfStep &step) { return step_grid(grid, step); }

std::string xdmf_series_end() { return fmt::format("    </Grid>\n{}", tail); }

std::string xdmf_series(const GridDescription &grid, const std::vector<XdmfStep> &steps) {
  std::string text = xdmf_series_begin(grid);
  for (const auto &step : steps)
    text += xdmf_series_step(grid, step);
  return text + xdmf_series_end();
}

std::string vtk_image_xml(const GridDescription &grid, const std::vector<std::string> &names) {
  const auto &[points, origin, spacing, coordinates] = grid;
  (void)coordinates; // ImageData has no coordinates
  // Extents are in the order z, y, x, as the shapes of the variables are; origin and spacing in the order x, y, z.
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

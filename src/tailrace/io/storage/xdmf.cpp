#include <tailrace/io/storage/xdmf.hpp>

#include <tailrace/io/data/vectors.hpp>
#include <tailrace/io/storage/files.hpp>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <optional>

namespace tailrace::io {

namespace {

// XDMF lists directions slowest first, z, y, x, for spacings as well as for dimensions.
std::string reversed(const Index3 &n) { return fmt::format("{} {} {}", n[2], n[1], n[0]); }
std::string reversed(const std::array<double, 3> &x) {
  return fmt::format("{:.17g} {:.17g} {:.17g}", x[2], x[1], x[0]);
}

std::string rectilinear_mesh(const GridDescription &grid) {
  std::string text = fmt::format("        <Topology TopologyType=\"3DRectMesh\" Dimensions=\"{}\"/>\n"
                                 "        <Geometry GeometryType=\"VXVYVZ\">\n",
                                 reversed(grid.points));
  for (std::size_t d = 0; d < 3; ++d) {
    text += fmt::format("          <!-- {} -->\n          <DataItem Format=\"XML\" NumberType=\"Float\" "
                        "Precision=\"8\" Dimensions=\"{}\">\n          ",
                        "xyz"[d], grid.points[d]);
    for (std::int64_t i = 0; i < grid.points[d]; ++i)
      text += fmt::format("{:.17g} ", grid.coordinate(d, i));
    text += "\n          </DataItem>\n";
  }
  return text + "        </Geometry>\n";
}

// A Topology or Geometry with a Reference to one elsewhere, or a Topology outside a Grid, makes XDMF 3 abort ParaView.
std::string mesh(const GridDescription &grid) {
  if (grid.stretched())
    return rectilinear_mesh(grid);
  return fmt::format(R"(        <Topology TopologyType="3DCoRectMesh" Dimensions="{}"/>
        <Geometry GeometryType="ORIGIN_DXDYDZ">
          <!-- Origin: z y x -->
          <DataItem Format="XML" NumberType="Float" Precision="8" Dimensions="3">
          {}
          </DataItem>
          <!-- Spacing: z y x -->
          <DataItem Format="XML" NumberType="Float" Precision="8" Dimensions="3">
          {}
          </DataItem>
        </Geometry>
)",
                     reversed(grid.points), reversed(grid.origin), reversed(grid.spacing));
}

/// The mesh of the first step, the two first elements in it, for each step behind it. XDMF 2 and 3 both follow this.
constexpr std::string_view mesh_of_first_step = R"x(        <xi:include xpointer="element(/1/1/1/1/1)"/>
        <xi:include xpointer="element(/1/1/1/1/2)"/>
)x";

std::string number_kind(Type type) {
  const bool byte = size_of(type) == 1;
  switch (traits_of(type).kind) {
  case NumberKind::integer:
    return byte ? "Char" : "Int";
  case NumberKind::natural:
    return byte ? "UChar" : "UInt";
  default:
    return "Float";
  }
}

std::string headerless_item(const XdmfAttribute &attribute, const std::string &shape) {
  return fmt::format(R"(           <DataItem Format="Binary"
           DataType="{}" Precision="{}" Endian="{}" Seek="0"
           Dimensions="{}">
              ./{}
           </DataItem>
)",
                     number_kind(attribute.type), size_of(attribute.type),
                     std::endian::native == std::endian::little ? "Little" : "Big", shape, xml_text(attribute.file));
}

/// One step of a dataset that holds all steps.
std::string hdf_item(const XdmfAttribute &attribute, const std::string &shape) {
  return fmt::format(R"(           <DataItem ItemType="HyperSlab" Type="HyperSlab" Dimensions="{0}">
              <DataItem Format="XML" NumberType="Int" Dimensions="3 4">
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
                     xml_text(attribute.file), attribute.dataset);
}

std::string item(const XdmfAttribute &attribute, const std::string &shape) {
  return attribute.dataset.empty() ? headerless_item(attribute, shape) : hdf_item(attribute, shape);
}

/// The vectors whose components are on the points. XDMF 3 cannot join arrays and leaves them out.
std::string vectors(const std::string &shape, const XdmfStep &step) {
  const auto find = [&](const std::string &name) {
    return std::ranges::find_if(step.attributes,
                                [&](const XdmfAttribute &drawn) { return drawn.name == name && !drawn.cells; });
  };
  std::string text;
  for (const auto &first : step.attributes) {
    const auto vector = vector_from(first.name, [&](const std::string &name) {
      return find(name) != step.attributes.end() && find(name)->type == first.type;
    });
    if (!vector || find(vector->name) != step.attributes.end())
      continue;
    text +=
        fmt::format("        <Attribute Name=\"{}\" AttributeType=\"Vector\" Center=\"Node\">\n"
                    "          <DataItem ItemType=\"Function\" Function=\"JOIN($0, $1, $2)\" Dimensions=\"{} 3\">\n",
                    vector->name, shape);
    for (const auto &name : vector->components)
      text += item(*find(name), shape);
    text += "          </DataItem>\n        </Attribute>\n";
  }
  return text;
}

std::string step_grid(const GridDescription &grid, const XdmfStep &step, std::string_view shown_mesh) {
  std::string text = fmt::format("    <Grid Name=\"{}\" GridType=\"Uniform\">\n{}        <Time Value=\"{:.17g}\"/>\n",
                                 step.name, shown_mesh, step.time);
  const Index3 &n = grid.points;
  for (const auto &attribute : step.attributes) {
    const std::string shape = reversed(attribute.cells ? Index3{n[0] - 1, n[1] - 1, n[2] - 1} : n);
    text +=
        fmt::format("        <Attribute Name=\"{}\" AttributeType=\"Scalar\" Center=\"{}\">\n{}        </Attribute>\n",
                    attribute.name, attribute.cells ? "Cell" : "Node", item(attribute, shape));
  }
  if (n != Index3{1, 1, 1}) // XDMF cannot join single numbers
    text += vectors(reversed(n), step);
  return text + "    </Grid>\n";
}

constexpr std::string_view head = R"(<?xml version="1.0" ?>
<!DOCTYPE Xdmf SYSTEM "Xdmf.dtd" []>
<Xdmf xmlns:xi="http://www.w3.org/2001/XInclude" Version="2.0">
<Domain>
)",
                           tail = "</Domain>\n</Xdmf>\n",
                           all_steps =
                               "    <Grid Name=\"series\" GridType=\"Collection\" CollectionType=\"Temporal\">\n",
                           end_of_series = "    </Grid>\n</Domain>\n</Xdmf>\n";
static_assert(head.size() + all_steps.size() <= first_bytes_of_xdmf_series);

std::string first_of_series(const GridDescription &grid, const XdmfStep &step) {
  return fmt::format("{}{}{}", head, all_steps, step_grid(grid, step, mesh(grid)));
}

std::string next_of_series(const GridDescription &grid, const XdmfStep &step) {
  return step_grid(grid, step, mesh_of_first_step);
}

/// Whether a file of `size` bytes has this text from byte `begin` on.
bool has_at(const FileDescriptor &file, std::int64_t size, std::int64_t begin, std::string_view text,
            const std::string &path) {
  if (begin < 0 || begin + static_cast<std::int64_t>(text.size()) > size)
    return false;
  std::string there(text.size(), '\0');
  read_all(file.get(), there.data(), static_cast<std::int64_t>(there.size()), begin, path);
  return there == text;
}

} // namespace

bool has_xdmf(Type type) { return is_drawn(type) && size_of(type) != 2 && type != Type::uint64; }

std::string xml_text(const std::string &text) {
  std::string result;
  for (const char c : text)
    result += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return result;
}

std::string xdmf_snapshot(const GridDescription &grid, const XdmfStep &step) {
  return fmt::format("{}{}{}", head, step_grid(grid, step, mesh(grid)), tail);
}

bool is_xdmf_series(std::string_view text) {
  return text.starts_with(head) && text.substr(head.size()).starts_with(all_steps);
}

void XdmfSeries::clear() {
  ::unlink(path_.c_str());
  file_ = FileDescriptor();
  end_ = before_ = 0;
}

bool XdmfSeries::take_up(const GridDescription &grid, const XdmfStep &first, const XdmfStep *last) {
  const std::optional<std::int64_t> size = bytes_of(path_);
  if (!size)
    return false;
  const FileDescriptor there(path_, O_RDONLY | O_NOFOLLOW);
  const std::string begin = first_of_series(grid, first),
                    ending = (last ? next_of_series(grid, *last) : std::string()) + std::string(end_of_series);
  const std::int64_t at = *size - static_cast<std::int64_t>(ending.size());
  const auto begins = static_cast<std::int64_t>(begin.size());
  if (last ? at < begins : at != begins)
    return false;
  if (!has_at(there, *size, 0, begin, path_) || !has_at(there, *size, at, ending, path_))
    return false;
  end_ = before_ = *size - static_cast<std::int64_t>(end_of_series.size());
  return true;
}

/// Ends the document after the steps before byte `end`. False: the next step begins it again.
bool XdmfSeries::end_at(std::int64_t end) noexcept {
  try {
    const auto size = static_cast<std::int64_t>(end_of_series.size());
    if (end > 0 && file_) {
      write_all(file_.get(), end_of_series.data(), size, end, path_);
      if (::ftruncate(file_.get(), end + size) == 0) {
        end_ = before_ = end;
        return true;
      }
    }
  } catch (const std::exception &) { // begun again below
  }
  clear(); // rather no drawing than one with a step that is not in the series
  return false;
}

bool XdmfSeries::sync() const noexcept { return !file_ || ::fsync(file_.get()) == 0; }

bool XdmfSeries::take_back() noexcept { return end_at(before_); }

void XdmfSeries::add(const GridDescription &grid, const XdmfStep &step) {
  const bool first = end_ == 0;
  const std::string text = first ? first_of_series(grid, step) : next_of_series(grid, step);
  if (!file_)
    file_ = FileDescriptor(path_, O_NOFOLLOW | (first ? O_WRONLY | O_CREAT | O_TRUNC : O_WRONLY));
  const std::string added = text + std::string(end_of_series);
  try {
    write_all(file_.get(), added.data(), static_cast<std::int64_t>(added.size()), end_, path_);
  } catch (...) {
    end_at(end_);
    throw;
  }
  before_ = end_;
  end_ += static_cast<std::int64_t>(text.size());
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

// The steps of a VTKHDF file of ours: their records, the growing lists that repeat them for other programs, and the
// list variables, which are datasets of their own in every step.

#include <tailrace/io/data/block.hpp>
#include <tailrace/io/data/json.hpp>
#include <tailrace/io/hdf5/vtkhdf/vtkhdf.hpp>
#include <tailrace/io/storage/json_log.hpp>
#include <tailrace/support/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tailrace::io::vtkhdf {

using nlohmann::json;

namespace {

const std::string scalars_path = "/Tailrace/scalars", records_path = "/Tailrace/steps", lists_path = "/Lists",
                  tables_path = "/Tailrace/blocks";

std::string record_path(std::int64_t row) { return fmt::format("{}/{}", records_path, row); }

std::string table_path(std::int64_t row) { return fmt::format("{}/{}", tables_path, row); }

json to_json(const Step &step) {
  json variables = json::array(), lists = json::array();
  for (const auto &[name, type, shape, list] : step.variables)
    if (list)
      lists.push_back({{"name", name}, {"type", name_of(type)}, {"shape", {shape[1], shape[0]}}});
    else
      variables.push_back(name);
  json record{{"index", step.info.index},
              {"time", step.info.time},
              {"scalars", scalars_to_json(step.scalars)},
              {"variables", variables},
              {"lists", lists},
              {"checksums", step.checksums.empty() ? json::object() : parse_json(step.checksums)}};
  if (!step.in_table.empty())
    record["table"] = {{"variables", step.in_table}, {"xxh3", step.table_sum}};
  return record;
}

Step from_json(const json &record, const Contents &contents) {
  Step step;
  step.info = {whole_number(record.at("index")), record.at("time")};
  step.scalars = scalars_from_json(record.at("scalars"));
  for (const auto &name : record.at("variables"))
    step.variables.push_back(contents.variables.at(name).info);
  for (const auto &list : record.at("lists")) {
    const json &shape = list.at("shape");
    step.variables.push_back({list.at("name"),
                              type_named(list.at("type")),
                              {whole_number(shape.at(1)), whole_number(shape.at(0)), 1},
                              true});
    check_shape(step.variables.back().name, step.variables.back().shape, true);
  }
  if (record.contains("table")) {
    step.in_table = record.at("table").at("variables").get<std::vector<std::string>>();
    step.table_sum = record.at("table").at("xxh3").get<std::string>();
  } else {
    step.checksums = valid_json_text(record.at("checksums"));
  }
  return step;
}

/// A row of a table: the number of a variable, and a block of it without its place.
using TableRow = std::array<std::int64_t, 8>;

std::string sum_of(const std::vector<TableRow> &rows) {
  RunningChecksum sum;
  sum.add(rows.data(), rows.size() * sizeof(TableRow));
  return sum.text();
}

/// Writes the checksums of a step as a table, and notes it in the step.
void write_table(hid_t file, std::int64_t row, const StepBlocks &blocks, Step &step) {
  std::vector<TableRow> rows;
  for (const auto &[name, ours] : blocks) {
    for (const BlockRow &block : ours) {
      const BlockNumbers numbers = numbers_of(block);
      rows.push_back({static_cast<std::int64_t>(step.in_table.size())});
      std::copy(numbers.begin() + 2, numbers.end(), rows.back().begin() + 1);
    }
    step.in_table.push_back(name);
  }
  step.table_sum = sum_of(rows);
  const hsize_t n[2] = {rows.size(), std::tuple_size_v<TableRow>};
  const h5::Handle space(H5Screate_simple(2, n, nullptr), H5Sclose), group = h5::group(file, tables_path);
  const std::string path = table_path(row);
  const h5::Handle made(
      h5::check(H5Dcreate2(file, path.c_str(), H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                "create " + path),
      H5Dclose);
  h5::check(H5Dwrite(made, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), "write " + path);
}

/// Adds a scalar to the list that other programs read. In steps without it a number is NaN or 0.
void put_scalar(hid_t file, const std::string &name, std::int64_t row, const Scalar &scalar) {
  const std::string path = scalars_path + "/" + name;
  constexpr H5T_class_t kinds[] = {H5T_FLOAT, H5T_INTEGER, H5T_STRING};
  constexpr const char *names[] = {"a float", "an integer", "a text"};
  if (h5::exists(file, path)) {
    const H5T_class_t before = h5::kind_of(file, path);
    if (before != kinds[scalar.index()])
      throw InputError(
          fmt::format("scalar '{}' is {} in the steps before and {} now; give it another name, or convert it", name,
                      names[before == H5T_FLOAT     ? 0
                            : before == H5T_INTEGER ? 1
                                                    : 2],
                      names[scalar.index()]));
  }
  std::visit([&](const auto &value) { h5::put_row(file, path, row, value); }, scalar);
}

} // namespace

void append_step(hid_t file, std::int64_t row, Step step, const std::optional<StepBlocks> &blocks,
                 const BlockList &block_list) {
  const auto many = [&](const auto &one) { return block_list.goes_into_table(one.second.size()); };
  if (blocks && std::any_of(blocks->begin(), blocks->end(), many))
    write_table(file, row, *blocks, step);
  else if (blocks)
    step.checksums = checksums_to_json(*blocks);
  for (const auto &[name, scalar] : step.scalars)
    put_scalar(file, name, row, scalar);
  for (const auto &name : h5::datasets(file, scalars_path))
    if (!step.scalars.count(name))
      h5::extend_rows(file, scalars_path + "/" + name, row + 1);
  h5::write_text(file, record_path(row), checked_line(to_json(step)));
  h5::put_row(file, values_path, row, step.info.time);
  h5::put_row(file, index_path, row, step.info.index);
  h5::set_attribute(h5::group(file, steps_path), "NSteps", row + 1);
}

std::string read_record(hid_t file, std::int64_t row) {
  return h5::exists(file, record_path(row)) ? h5::read_text(file, record_path(row)) : "";
}

Step read_step(hid_t file, const Contents &contents, std::int64_t row) {
  const StepInfo &known = contents.steps.at(static_cast<std::size_t>(row));
  if (!h5::exists(file, "/Tailrace")) { // another program wrote it
    Step step;
    step.info = known;
    for (const auto &[name, variable] : contents.variables)
      step.variables.push_back(variable.info);
    return step;
  }
  const auto damaged = [&](const std::string &why) {
    return IoError(fmt::format("the record of step {} ({}) is damaged: {}", known.index, record_path(row), why));
  };
  try {
    const Step step = from_json(checked_object(h5::read_text(file, record_path(row))), contents);
    if (step.info.index != known.index || step.info.time != known.time)
      throw damaged(fmt::format("it is of step {} at time {}, but {} says {}", step.info.index, step.info.time,
                                values_path, known.time));
    return step;
  } catch (const json::exception &error) {
    throw damaged(error.what());
  } catch (const InputError &error) { // a type or a shape that no list has
    throw damaged(error.what());
  } catch (const std::out_of_range &error) { // also for a variable that no longer exists
    throw damaged(error.what());
  }
}

std::string read_table(hid_t file, const Step &step, std::int64_t row) {
  const std::string path = table_path(row);
  const auto damaged = [&](const std::string &why) {
    return IoError(fmt::format("the table of blocks of step {} ({}) is damaged: {}", step.info.index, path, why));
  };
  if (!h5::exists(file, path))
    throw damaged("it is not there");
  const h5::Handle stored = h5::dataset(file, path);
  const std::vector<hsize_t> n = h5::extent(stored);
  if (n.size() != 2 || n[1] != std::tuple_size_v<TableRow> ||
      n[0] * sizeof(TableRow) > static_cast<hsize_t>(h5::place_of(stored).second))
    throw damaged("it has another shape than was written");
  std::vector<TableRow> rows(n[0]);
  h5::check(H5Dread(stored, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), "read " + path);
  if (sum_of(rows) != step.table_sum)
    throw damaged("it differs from its checksum");
  StepBlocks blocks;
  for (const TableRow &one : rows) {
    BlockNumbers numbers{};
    std::copy(one.begin() + 1, one.end(), numbers.begin() + 2);
    if (one[0] < 0 || one[0] >= static_cast<std::int64_t>(step.in_table.size()))
      throw damaged(fmt::format("it has variable {} of {}", one[0], step.in_table.size()));
    blocks[step.in_table[static_cast<std::size_t>(one[0])]].push_back(block_of(numbers));
  }
  return checksums_to_json(blocks);
}

void read_box(hid_t file, const std::string &path, const VariableInfo &variable, std::int64_t row, const Box &box,
              void *data) {
  const auto u = [](std::int64_t value) { return static_cast<hsize_t>(value); };
  std::vector<hsize_t> start{u(row), u(box.start[2]), u(box.start[1]), u(box.start[0])};
  std::vector<hsize_t> count{1, u(box.count[2]), u(box.count[1]), u(box.count[0])};
  if (variable.list) {
    start.erase(start.begin(), start.begin() + 2);
    count.erase(count.begin(), count.begin() + 2);
  }
  // Without a cache HDF5 reads from a small chunk too what is asked for only, and not all of it for each rank.
  const h5::Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access, 0, 0, 1);
  const h5::Handle stored = h5::dataset(file, path, access);
  if (h5::extent(stored).size() != start.size())
    throw IoError(fmt::format("cannot read {} of {}: its shape is not what it was", path, h5::name_of(file)));
  const h5::Handle space = h5::space_of(stored),
                   memory(H5Screate_simple(static_cast<int>(count.size()), count.data(), nullptr), H5Sclose);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr);
  h5::check(H5Dread(stored, h5::type(variable.type), memory, space, H5P_DEFAULT, data),
            fmt::format("read {} of {}", path, h5::name_of(file)));
}

std::vector<std::string> lists_of_steps(hid_t file) {
  std::vector<std::string> lists;
  for (const auto &list : {values_path, index_path})
    if (h5::exists(file, list))
      lists.push_back(list);
  for (const auto &name : h5::datasets(file, scalars_path))
    lists.push_back(scalars_path + "/" + name);
  return lists;
}

void cut_steps(hid_t file, std::int64_t steps) {
  begin_generation(file);
  h5::set_attribute(h5::group(file, steps_path), "NSteps", steps);
  for (const auto &list : lists_of_steps(file))
    h5::cut_rows(file, list, steps);
}

std::map<std::int64_t, std::int64_t> marks(hid_t file, std::int64_t row) {
  std::map<std::int64_t, std::int64_t> places;
  for (const auto &path : {std::string("/Tailrace/id"), record_path(row - 1)}) // files of other programs have none
    if (h5::exists(file, path))
      if (const auto place = h5::place_of(h5::dataset(file, path)); place.second > 0)
        places.insert(place);
  return places;
}

bool has_leftovers(hid_t file, std::int64_t steps) { return h5::exists(file, record_path(steps)); }

void remove_leftovers(hid_t file, const Contents &contents) {
  const auto steps = static_cast<std::int64_t>(contents.steps.size());
  const auto remove_rows = [&](const std::string &group) {
    for (const auto &name : h5::datasets(file, group))
      if (std::stoll(name) >= steps)
        h5::remove(file, group + "/" + name);
  };
  remove_rows(records_path);
  remove_rows(tables_path);
  for (const auto &name : h5::groups(file, lists_path)) {
    const std::string group = lists_path + "/" + name;
    remove_rows(group);
    if (h5::datasets(file, group).empty())
      h5::remove(file, group);
  }
  for (const auto &[name, variable] : contents.variables)
    cut_variable(file, variable, steps);
}

// ---- lists ----

std::string list_path(const std::string &name, std::int64_t row) {
  return fmt::format("{}/{}/{}", lists_path, name, row);
}

bool is_list(hid_t file, const std::string &name) { return h5::exists(file, lists_path + "/" + name); }

std::vector<Chunk> create_list(hid_t file, const VariableInfo &info, std::int64_t row) {
  const std::string path = list_path(info.name, row);
  const hsize_t n[2] = {static_cast<hsize_t>(info.shape[1]), static_cast<hsize_t>(info.shape[0])};
  const h5::Handle space(H5Screate_simple(2, n, nullptr), H5Sclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY); // it gets its place at once
  H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
  h5::group(file, fmt::format("{}/{}", lists_path, info.name));
  const h5::Handle made(
      h5::check(H5Dcreate2(file, path.c_str(), h5::type(info.type), space, H5P_DEFAULT, creation, H5P_DEFAULT),
                "create " + path),
      H5Dclose);
  const auto [offset, bytes] = h5::place_of(made);
  if (bytes == 0)
    return {};
  return {{offset, 0, 1, bytes}};
}

} // namespace tailrace::io::vtkhdf

// SPDX-License-Identifier: Apache-2.0
#include "tools/weft/failures.hpp"

#include <exception>
#include <ostream>
#include <stdexcept>
#include <system_error>

#include "configs/reader/error.hpp"
#include "configs/reader/located.hpp"
#include "models/planner/pins.hpp"
#include "models/planner/search.hpp"
#include "models/profile/profile.hpp"
#include "sim/run.hpp"
#include "topologies/build.hpp"

namespace weft::tool {

ExitCode guarded(const std::function<ExitCode()>& command, std::ostream& err) {
  try {
    return command();
  } catch (const config::ConfigErrors& errors) {
    for (const config::ConfigError& error : errors.errors())
      err << config::to_string(config::located(error)) << '\n';
    return ExitCode::bad_input;
  } catch (const UsageError& error) {
    err << "weft: " << error.what() << '\n';
    return ExitCode::bad_input;
  } catch (const model::PinError& error) {
    err << "weft: " << error.what() << '\n';
    return ExitCode::bad_input;
  } catch (const model::MissingConstant& error) {
    err << "weft: " << error.what()
        << "\nTake a dtype or a profile that has it, or add it to the profile.\n";
    return ExitCode::bad_input;
  } catch (const std::overflow_error& error) {
    err << "weft: a size is too large to count with: " << error.what() << '\n';
    return ExitCode::bad_input;
  } catch (const topology::BuildError& error) {
    for (const std::string& fault : error.faults()) err << "weft: " << fault << '\n';
    return ExitCode::bad_input;
  } catch (const sim::DeadlockError& error) {
    err << "weft: this program never ends\n" << error.what() << '\n';
    return ExitCode::failed;
  } catch (const model::SearchStopped&) {
    err << "weft: stopped; nothing was written\n";
    return ExitCode::failed;
  } catch (const std::system_error& error) {
    // A file that cannot be written: where it should go was the user's choice.
    err << "weft: " << error.what() << '\n';
    return ExitCode::bad_input;
  } catch (const std::exception& error) {
    err << "weft: internal error: " << error.what()
        << "\nThis is a fault of weft, not of your files. Please report it with the files that "
           "cause "
           "it.\n";
    return ExitCode::internal;
  }
}

}  // namespace weft::tool

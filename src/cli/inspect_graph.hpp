// What `hotloop inspect` says about a network that is a graph.
#pragma once

#include <string>

#include "core/json.hpp"

namespace hotloop {

// See graph_report.hpp. Null if the network of the run folder or model file is not a graph, or if
// there is no model yet.
Json describe_graph_of(const std::string& path);

// The activation of every neuron for the observation in a JSON file: [1, 2, …], a number per input.
// Throws UsageError.
Json describe_activations(const std::string& path, const std::string& obs_file);

// Draws the latest network as .svg or .png, or all snapshots of the run as .gif.
void write_picture_of(const std::string& path, const std::string& picture);

}  // namespace hotloop

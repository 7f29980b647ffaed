// A small decode server. Clients hand in prompts token by token; in every step a recurrent language model
// gives each of them its next token. Clients are served in groups, and groups are independent. How the server
// is set up is drawn.
//
// Symptom: it's many times slower than it could be, though every token is right.
// Task: with this setup the program has five faults, one for each of chapters 2 to 6. Find them by their
// tools, and fix them.
//
// build:   nvcc -std=c++17 -O3 -lineinfo -arch=native -I../../.. starter.cu -o starter    (in this folder)
// look:    nsys profile --trace=cuda,nvtx --sample=none --cpuctxsw=none -f true -o starter ./starter
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include "common/check.cuh"
#include "common/graph_compat.cuh"
#include "common/nvtx.hpp"
#include "common/options.hpp"

constexpr int kSlots = 16;            // clients in a group
constexpr int kRows = 32;             // rows of a matrix in a block: one for each lane of a warp
constexpr int kParts = 8;             // warps of a block, among which a row's products are divided
constexpr int kPitch = kRows + 1;     // of partial sums in shared memory: no bank conflicts
constexpr int kLanes = 64;            // threads that look for the best token of one client
constexpr int kNewRequest = 1 << 30;  // flag of a request's first token
constexpr int kGoOn = -1;             // instead of a token: go on with the one that the model gave
constexpr int kDivisor = 8;           // of every sum in a layer
constexpr float kLimit = 8;           // values are whole numbers from -8 to 8, so that every sum is exact

/// How the server is set up.
struct Setup {
    int connections;      // that bring a group's tokens, each those of as many clients
    bool pinned_inputs;   // tokens come into pinned memory
    bool pinned_answers;  // and go back into it
    int window;           // steps after which clients read what has come back
    int streams;          // which groups take in turn
    int workspaces;       // for what's computed in between, which groups take in turn, too
    int graphs;           // groups that may keep a graph
    int prompt;           // tokens of the shortest prompt
    int spare_scores;     // of each client, behind those of all tokens
    bool whole_blocks;    // matrices have rows for every thread of their last block
    int layer_tile;       // rows of a layer's matrix that lie side by side
    int score_tile;       // and of the matrix of scores
};

Setup draw_setup(unsigned seed) {
    std::mt19937 random(seed);
    const auto below = [&](int count) { return static_cast<int>(random() % count); };
    return {1 << below(5), below(2) == 1, below(2) == 1,     1 << below(6), 1 << below(3), 1 << below(3),
            below(5),      2 << below(5), kLanes * below(2), below(2) == 1, 1 << below(6), 1 << below(6)};
}

/// Where a weight lies: in tiles of rows, a tile's column after the other.
__host__ __device__ size_t place(int row, int k, int tile, int width) {
    return (size_t(row / tile) * width + k) * tile + row % tile;
}

/// The tokens of this step, one block a client: values become embedding + what the model remembers, which is
/// nothing if a request begins. Values are laid out [number][client].
__global__ void embed(const float* embeddings, const int* inputs, unsigned begins, const int* tokens,
                      const float* memory, float* values, int width) {
    const int slot = blockIdx.x, input = inputs[slot];
    const bool first = begins >> slot & 1;
    const int token = input == kGoOn ? tokens[slot] : input & ~kNewRequest;
    for (int k = threadIdx.x; k < width; k += blockDim.x) {
        const float remembered = first ? 0 : memory[k * kSlots + slot];
        const float sum = embeddings[size_t(token) * width + k] + remembered;
        values[k * kSlots + slot] = fminf(fmaxf(sum, -kLimit), kLimit);
    }
}

/// out = weights * in for all clients of a group: scaled, rounded towards 0 and limited.
__global__ void multiply(const float* weights, int tile, const float* in, float* out, int rows, int width,
                         float scale, float limit) {
    extern __shared__ float4 shared[];
    float* const numbers = reinterpret_cast<float*>(shared);
    const int thread = threadIdx.y * kRows + threadIdx.x, row = blockIdx.x * kRows + threadIdx.x;
    for (int i = thread; i < width * kSlots; i += kRows * kParts) numbers[i] = in[i];
    __syncthreads();
    float sums[kSlots] = {};
#pragma unroll 8
    for (int k = threadIdx.y; k < width; k += kParts) {
        const float weight = weights[place(row, k, tile, width)];
        for (int i = 0; i < kSlots / 4; ++i) {
            const float4 x = shared[k * (kSlots / 4) + i];
            sums[4 * i] += weight * x.x;
            sums[4 * i + 1] += weight * x.y;
            sums[4 * i + 2] += weight * x.z;
            sums[4 * i + 3] += weight * x.w;
        }
    }
    __syncthreads();
    // The products' places become those of the partial sums: [part][client][row].
    for (int slot = 0; slot < kSlots; ++slot)
        numbers[(threadIdx.y * kSlots + slot) * kPitch + threadIdx.x] = sums[slot];
    __syncthreads();
    for (int i = thread; i < kRows * kSlots; i += kRows * kParts) {
        const int slot = i % kSlots, at = blockIdx.x * kRows + i / kSlots;
        float sum = 0;
        for (int part = 0; part < kParts; ++part)
            sum += numbers[(part * kSlots + slot) * kPitch + i / kSlots];
        if (at < rows) out[at * kSlots + slot] = fminf(fmaxf(truncf(sum * scale), -limit), limit);
    }
}

/// The token with the largest score, the first of them if there are several; 64 threads a client. (With the
/// scores of a client side by side, cub::BlockReduce and a block for each client would do it.)
__global__ void choose(const float* scores, int* tokens, int vocabulary) {
    __shared__ float best_score[kLanes][kSlots];
    __shared__ int best_token[kLanes][kSlots];
    const int slot = threadIdx.x, lane = threadIdx.y;
    float best = -INFINITY;
    int found = 0;
    float ahead = lane < vocabulary ? scores[lane * kSlots + slot] : -INFINITY;
    for (int token = lane; token < vocabulary; token += kLanes) {
        const float score = ahead;
        ahead = scores[(token + kLanes) * kSlots + slot];
        if (score > best) best = score, found = token;
    }
    best_score[lane][slot] = best, best_token[lane][slot] = found;
    for (int half = kLanes / 2; half > 0; half /= 2) {
        __syncthreads();
        if (lane >= half) continue;
        const float other = best_score[lane + half][slot], mine = best_score[lane][slot];
        const int other_token = best_token[lane + half][slot];
        if (other > mine || (other == mine && other_token < best_token[lane][slot]))
            best_score[lane][slot] = other, best_token[lane][slot] = other_token;
    }
    if (lane == 0) tokens[slot] = best_token[0][slot];
}

/// Whole numbers, row after row: embeddings and scores have a row for each token, layers one for each value.
struct Model {
    int width, vocabulary;
    std::vector<int16_t> embeddings, scores;
    std::vector<std::vector<int16_t>> layers;
};

Model random_model(int width, int vocabulary, int layers) {
    std::mt19937 random(76);
    const auto matrix = [&](int rows, int largest) {
        std::vector<int16_t> numbers(size_t(rows) * width);
        for (int16_t& number : numbers)
            number = static_cast<int16_t>(int(random() % (2 * largest + 1)) - largest);
        return numbers;
    };
    Model model{width, vocabulary, matrix(vocabulary, 8), matrix(vocabulary, 3), {}};
    for (int i = 0; i < layers; ++i) model.layers.push_back(matrix(width, 1));
    return model;
}

/// What a client hands in, for each step. A request's answer has as many tokens as its prompt.
struct Client {
    std::vector<int> inputs;
};

std::vector<Client> random_clients(int count, int steps, int vocabulary, int shortest) {
    std::mt19937 random(77);
    std::vector<Client> clients(count);
    for (Client& client : clients)
        while (client.inputs.size() < size_t(steps)) {
            const int prompt = shortest + static_cast<int>(random() % (2 * shortest + 1));
            for (int i = 0; i < 2 * prompt; ++i) {
                const int token = static_cast<int>(random() % vocabulary);
                client.inputs.push_back(i >= prompt ? kGoOn : i == 0 ? token | kNewRequest : token);
            }
        }
    return clients;
}

/// The reference: the tokens that this client should get, in whole numbers.
std::vector<int> expected_tokens(const Model& model, const Client& client, int steps) {
    std::vector<int16_t> values(model.width), next(model.width);
    std::vector<int> tokens;
    const auto product = [&](const std::vector<int16_t>& matrix, int row) {
        int sum = 0;
        for (int k = 0; k < model.width; ++k) sum += matrix[size_t(row) * model.width + k] * values[k];
        return sum;
    };
    const auto limited = [](int number) { return static_cast<int16_t>(std::clamp(number, -8, 8)); };
    for (int step = 0; step < steps; ++step) {
        const int input = client.inputs[step];
        const int token = input == kGoOn ? tokens.back() : input & ~kNewRequest;
        if (input != kGoOn && (input & kNewRequest)) std::fill(values.begin(), values.end(), int16_t{0});
        for (int k = 0; k < model.width; ++k)
            values[k] = limited(model.embeddings[size_t(token) * model.width + k] + values[k]);
        for (const auto& layer : model.layers) {
            for (int row = 0; row < model.width; ++row) next[row] = limited(product(layer, row) / kDivisor);
            values.swap(next);
        }
        int best = 0, best_score = product(model.scores, 0);
        for (int row = 1; row < model.vocabulary; ++row)
            if (const int score = product(model.scores, row); score > best_score)
                best = row, best_score = score;
        tokens.push_back(best);
    }
    return tokens;
}

struct Matrix {
    int rows, tile;
    std::unique_ptr<float[], DeviceFree> weights;
};

/// The model on the GPU. Groups share it.
struct DeviceModel {
    int width, vocabulary;
    std::unique_ptr<float[], DeviceFree> embeddings;
    Matrix scores;
    std::vector<Matrix> layers;
};

DeviceModel upload(const Model& model, const Setup& setup) {
    const auto up = [](const std::vector<float>& numbers) {
        auto device = device_array<float>(numbers.size());
        CUDA_CHECK(
            cudaMemcpy(device.get(), numbers.data(), numbers.size() * sizeof(float), cudaMemcpyHostToDevice));
        return device;
    };
    const auto tiled = [&](const std::vector<int16_t>& matrix, int rows, int tile) {
        const int unit = setup.whole_blocks ? kRows : tile;
        std::vector<float> numbers(size_t((rows + unit - 1) / unit) * unit * model.width);
        for (int row = 0; row < rows; ++row)
            for (int k = 0; k < model.width; ++k)
                numbers[place(row, k, tile, model.width)] = matrix[size_t(row) * model.width + k];
        return Matrix{rows, tile, up(numbers)};
    };
    DeviceModel device{model.width,
                       model.vocabulary,
                       up({model.embeddings.begin(), model.embeddings.end()}),
                       tiled(model.scores, model.vocabulary, setup.score_tile),
                       {}};
    for (const auto& layer : model.layers)
        device.layers.push_back(tiled(layer, model.width, setup.layer_tile));
    return device;
}

/// Whole numbers in the host's memory.
class HostArray {
  public:
    HostArray(size_t count, bool pinned) {
        if (pinned)
            pinned_ = pinned_array<int>(count);
        else
            pageable_.resize(count);
    }
    [[nodiscard]] int* data() { return pinned_ ? pinned_.get() : pageable_.data(); }

  private:
    std::unique_ptr<int[], PinnedFree> pinned_;
    std::vector<int> pageable_;
};

/// Room for what a step computes in between. It's free when the step that used it last is over.
struct Workspace {
    std::unique_ptr<float[], DeviceFree> next, scores;
    Event free = make_event(cudaEventDisableTiming);

    Workspace(const DeviceModel& model, const Setup& setup)
        : next(device_array<float>(size_t(model.width) * kSlots)),
          scores(device_array<float>(size_t(model.vocabulary + setup.spare_scores) * kSlots)) {}
};

/// Clients that are served together, and what the GPU keeps for them.
struct Group {
    cudaStream_t stream;
    const Workspace* workspace;
    bool may_keep_graph;
    std::unique_ptr<int[], DeviceFree> inputs = device_array<int>(kSlots), tokens = device_array<int>(kSlots);
    std::unique_ptr<float[], DeviceFree> values;
    HostArray handed_in, answers;  // [step][client]
    GraphExec graph;               // of one step

    Group(const DeviceModel& model, const Setup& setup, int steps, cudaStream_t queue, const Workspace* room,
          bool keeps_graph)
        : stream(queue),
          workspace(room),
          may_keep_graph(keeps_graph),
          values(device_array<float>(size_t(model.width) * kSlots)),
          handed_in(size_t(steps) * kSlots, setup.pinned_inputs),
          answers(size_t(steps) * kSlots, setup.pinned_answers) {}
};

/// Queues one step of the model: from the inputs of a group to its tokens.
void decode(const DeviceModel& model, const Group& group, unsigned begins) {
    // What the model remembers are the last layer's values.
    const auto layers = model.layers.size();
    float* const buffers[] = {group.values.get(), group.workspace->next.get()};
    float* const scores = group.workspace->scores.get();
    const size_t shared = sizeof(float) * std::max(model.width, kPitch * kParts) * kSlots;
    const auto multiply_by = [&](const Matrix& matrix, const float* in, float* out, float scale,
                                 float limit) {
        multiply<<<(matrix.rows + kRows - 1) / kRows, dim3(kRows, kParts), shared, group.stream>>>(
            matrix.weights.get(), matrix.tile, in, out, matrix.rows, model.width, scale, limit);
        CUDA_CHECK(cudaGetLastError());
    };
    embed<<<kSlots, 256, 0, group.stream>>>(model.embeddings.get(), group.inputs.get(), begins,
                                            group.tokens.get(), buffers[0], buffers[layers % 2], model.width);
    CUDA_CHECK(cudaGetLastError());
    for (size_t left = layers; left > 0; --left)
        multiply_by(model.layers[layers - left], buffers[left % 2], buffers[(left - 1) % 2], 1.0f / kDivisor,
                    kLimit);
    multiply_by(model.scores, buffers[0], scores, 1, INFINITY);
    choose<<<1, dim3(kSlots, kLanes), 0, group.stream>>>(scores, group.tokens.get(), model.vocabulary);
    CUDA_CHECK(cudaGetLastError());
}

/// One step of a group as a graph.
GraphExec capture(const DeviceModel& model, const Group& group) {
    cudaGraph_t graph = nullptr;
    CUDA_CHECK(cudaStreamBeginCapture(group.stream, cudaStreamCaptureModeThreadLocal));
    decode(model, group, 0);
    CUDA_CHECK(cudaStreamEndCapture(group.stream, &graph));
    return instantiate(Graph(graph));
}

/// Takes what the clients of a group hand in for this step, and sends them the model's tokens.
void serve_step(const DeviceModel& model, Group& group, const Client* clients, int step, int connections) {
    int* const handed_in = group.handed_in.data() + size_t(step) * kSlots;
    unsigned begins = 0;
    for (int slot = 0; slot < kSlots; ++slot) {
        handed_in[slot] = clients[slot].inputs[step];
        if (handed_in[slot] != kGoOn && (handed_in[slot] & kNewRequest)) begins |= 1u << slot;
    }
    const int of_connection = kSlots / connections;
    for (int slot = 0; slot < kSlots; slot += of_connection)
        CUDA_CHECK(cudaMemcpyAsync(&group.inputs[slot], &handed_in[slot], of_connection * sizeof(int),
                                   cudaMemcpyHostToDevice, group.stream));
    CUDA_CHECK(cudaStreamWaitEvent(group.stream, group.workspace->free.get()));
    if (group.may_keep_graph && begins == 0) {
        if (!group.graph) group.graph = capture(model, group);
        CUDA_CHECK(cudaGraphLaunch(group.graph.get(), group.stream));
    } else {
        decode(model, group, begins);
    }
    CUDA_CHECK(cudaEventRecord(group.workspace->free.get(), group.stream));
    CUDA_CHECK(cudaMemcpyAsync(group.answers.data() + size_t(step) * kSlots, group.tokens.get(),
                               kSlots * sizeof(int), cudaMemcpyDeviceToHost, group.stream));
}

int main(int argc, char** argv) {
    Options options(argc, argv, "Serves the next token of a random language model to groups of clients.");
    const int groups = options.integer("--groups", 4, 1, 16, "groups of 16 clients");
    const int steps = options.integer("--steps", 48, 1, 1000, "steps, each one token for every client");
    const int width = options.integer("--width", 512, 1, 768, "values that the model computes with");
    const int vocabulary = options.integer("--vocabulary", 1003, 1, 20'000, "tokens that it knows");
    const int layers = options.integer("--layers", 6, 1, 32, "layers of the model");
    const auto seed =
        static_cast<unsigned>(options.integer("--seed", 9382451, 0, 1'000'000'000, "of the setup"));
    options.done();
    const Setup setup = draw_setup(seed);
    require_gpu((size_t(layers) * width + 2 * size_t(vocabulary)) * width * sizeof(float) +
                groups * size_t(width + vocabulary) * 2 * kSlots * sizeof(float));

    const Model model = random_model(width, vocabulary, layers);
    const std::vector<Client> clients = random_clients(groups * kSlots, steps, vocabulary, setup.prompt);
    const DeviceModel device_model = upload(model, setup);
    std::vector<Stream> streams(setup.streams);
    for (Stream& stream : streams) stream = make_stream(cudaStreamNonBlocking);
    std::vector<Workspace> workspaces;
    for (int w = 0; w < setup.workspaces; ++w) workspaces.emplace_back(device_model, setup);
    std::vector<Group> served;
    for (int g = 0; g < groups; ++g)
        served.emplace_back(device_model, setup, steps, streams[g % setup.streams].get(),
                            &workspaces[g % setup.workspaces], g < setup.graphs);
    // The model may still be on its way: cudaMemcpy doesn't wait for the end, nor do these streams for it.
    CUDA_CHECK(cudaDeviceSynchronize());
    {
        nvtx3::scoped_range range{"warm-up"};
        for (int g = 0; g < groups; ++g)
            serve_step(device_model, served[g], &clients[g * kSlots], 0, setup.connections);
        CUDA_CHECK(cudaDeviceSynchronize());
        // Nothing of this may pass for an answer.
        for (Group& group : served) std::fill_n(group.answers.data(), size_t(steps) * kSlots, -1);
    }
    const auto start = std::chrono::steady_clock::now();
    {
        nvtx3::scoped_range range{"serve"};
        for (int step = 0; step < steps; ++step) {
            for (int g = 0; g < groups; ++g)
                serve_step(device_model, served[g], &clients[g * kSlots], step, setup.connections);
            if ((step + 1) % setup.window == 0) CUDA_CHECK(cudaDeviceSynchronize());
        }
        CUDA_CHECK(cudaDeviceSynchronize());
    }
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;

    int wrong = 0, first_wrong = -1, expected = 0, found = 0;
    for (int c = 0; c < groups * kSlots; ++c) {
        const std::vector<int> tokens = expected_tokens(model, clients[c], steps);
        for (int step = 0; step < steps; ++step) {
            const int answer = served[c / kSlots].answers.data()[size_t(step) * kSlots + c % kSlots];
            if (c == 0 || (answer != tokens[step] && wrong == 0)) expected = tokens[step], found = answer;
            if (answer != tokens[step] && wrong++ == 0) first_wrong = c;
        }
    }
    std::printf("%d steps of %d clients: %.2f ms, %.0f tokens a second\n", steps, groups * kSlots,
                elapsed.count(), 1e3 * steps * groups * kSlots / elapsed.count());
    std::printf("client %d: expected token %d, found %d; %d of %d tokens wrong\n", std::max(first_wrong, 0),
                expected, found, wrong, steps * groups * kSlots);
    return wrong == 0 ? 0 : 1;
}

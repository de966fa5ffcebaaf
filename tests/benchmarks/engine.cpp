// The engine's simulation in C++, for `engine_beside_cpp.py`: the same algorithm on the same tables
// as rarmodel/engine/kernel.py and evaluate.py, function by function.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

using i64 = std::int64_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr i64 NEVER = i64{1} << 62;
constexpr u32 NOWHERE = 0xffffffff;
constexpr double UNKNOWN = -1.0;
constexpr i64 OVERFULL = -1, STUCK = -2, LATE = -3;

struct Job {
    i64 gpus, iterations;
    double bits, reduction, compute;
};

struct Ring {
    i64 remaining, since, speed, finish;
    double bandwidth, settled;
    u32 servers, links, heap_at;
};

struct Completion {
    i64 finish;
    u32 job;
};

struct Link {
    double share;
    u32 row, rings, changed, below;
};

struct Member {
    u32 link, at;
};

struct Place {
    u32 job, member;
};

struct Simulation {
    double slot_seconds, overhead_ms_per_server;
    const Job *jobs;
    const i64 *packed, *server_gpus;
    const u32 *path_at, *path, *member_at, *row_at;
    const double *share;

    i64 clock = 0;
    u64 in_heap = 0, running = 0;
    std::vector<Ring> rings;
    std::vector<Completion> heap;
    std::vector<Link> links;
    std::vector<Member> members;
    std::vector<Place> row;
    std::vector<u32> changed_rings, changed_links, touched;
    std::vector<i64> busy;
    u64 rings_changed = 0, links_changed = 0;

    void reset() {
        clock = 0;
        in_heap = running = rings_changed = links_changed = 0;
        for (Ring &ring : rings) ring.finish = NEVER;
        for (Link &link : links) {
            link.rings = link.changed = 0;
            link.share = share[link.row];
        }
        std::fill(busy.begin(), busy.end(), 0);
    }

    void change(u32 index) {
        Link &link = links[index];
        if (!link.changed) {
            link.changed = 1;
            changed_links[links_changed++] = index;
        }
    }

    void start(u32 job, const i64 *servers, const i64 *workers, i64 used) {
        Ring &ring = rings[job];
        ring.servers = used;
        ring.links = 0;
        ring.heap_at = NOWHERE;
        changed_rings[rings_changed++] = job;
        running++;
        if (used == 1) return;
        ring.remaining = jobs[job].iterations;
        ring.since = clock;
        ring.speed = 0;
        ring.bandwidth = ring.settled = UNKNOWN;
        u64 count = 0;
        for (i64 i = 0; i < used; i++)
            for (u32 p = path_at[servers[i]]; p < path_at[servers[i] + 1]; p++) {
                Link &link = links[path[p]];
                if (link.below == 0) touched[count++] = path[p];
                link.below += workers[i];
            }
        for (u64 i = 0; i < count; i++) {
            u32 index = touched[i];
            Link &link = links[index];
            if (link.below < jobs[job].gpus) {
                change(index);
                u32 at = link.row + link.rings++, number = member_at[job] + ring.links++;
                members[number] = {index, at};
                row[at] = {job, number};
            }
            link.below = 0;
        }
    }

    void leave(u32 job) {
        Ring &ring = rings[job];
        while (ring.links > 0) {
            const Member member = members[member_at[job] + --ring.links];
            change(member.link);
            Link &link = links[member.link];
            const Place last = row[link.row + --link.rings];
            row[member.at] = last;
            members[last.member].at = member.at;
        }
    }

    void put(u64 place, Completion entry) {
        heap[place] = entry;
        rings[entry.job].heap_at = place;
    }

    void sift(Completion entry, u64 place) {
        while (place > 0) {
            u64 parent = (place - 1) >> 1;
            if (heap[parent].finish <= entry.finish) break;
            put(place, heap[parent]);
            place = parent;
        }
        for (;;) {
            u64 child = 2 * place + 1;
            if (child >= in_heap) break;
            if (child + 1 < in_heap) child += heap[child + 1].finish < heap[child].finish;
            if (heap[child].finish >= entry.finish) break;
            put(place, heap[child]);
            place = child;
        }
        put(place, entry);
    }

    void heap_place(u32 job) {
        u64 place = rings[job].heap_at;
        if (place == NOWHERE) place = in_heap++;
        sift({rings[job].finish, job}, place);
    }

    void heap_remove(u32 job) {
        u64 place = rings[job].heap_at;
        if (place == NOWHERE) return;
        rings[job].heap_at = NOWHERE;
        const Completion last = heap[--in_heap];
        if (last.job != job) sift(last, place);
    }

    void update(u32 index) {
        Ring &ring = rings[index];
        if (ring.links == 0) {
            if (packed[index] < NEVER) {
                ring.finish = clock + packed[index];
                heap_place(index);
            }
            return;
        }
        if (ring.bandwidth == UNKNOWN) {
            const Member *member = &members[member_at[index]];
            double bandwidth = links[member->link].share;
            for (u32 i = 1; i < ring.links; i++)
                bandwidth = std::min(bandwidth, links[member[i].link].share);
            ring.bandwidth = bandwidth;
        }
        if (ring.bandwidth == ring.settled) return;
        ring.settled = ring.bandwidth;
        const Job &job = jobs[index];
        const double overhead = overhead_ms_per_server * 1e-3 * ring.servers;
        const double seconds =
            job.bits / (ring.bandwidth * 1e9) + job.reduction + overhead + job.compute;
        const i64 speed = std::floor(std::min(slot_seconds / seconds + 1e-9, 9007199254740992.0));
        if (speed == ring.speed) return;
        ring.remaining -= ring.speed * (clock - ring.since);
        ring.since = clock;
        ring.speed = speed;
        if (speed == 0) {
            ring.finish = NEVER;
            heap_remove(index);
        } else {
            ring.finish = clock + (ring.remaining + speed - 1) / speed;
            heap_place(index);
        }
    }

    i64 next_completion() {
        for (u64 i = 0; i < links_changed; i++) {
            Link &link = links[changed_links[i]];
            link.changed = 0;
            const double before = link.share, after = share[link.row + link.rings];
            if (before == after) continue;
            link.share = after;
            for (u32 at = link.row; at < link.row + link.rings; at++) {
                Ring &ring = rings[row[at].job];
                if ((after < before && after < ring.bandwidth) ||
                    (before <= ring.bandwidth && ring.bandwidth < after)) {
                    if (ring.bandwidth == ring.settled) changed_rings[rings_changed++] = row[at].job;
                    ring.bandwidth = after < before ? after : UNKNOWN;
                }
            }
        }
        for (u64 i = 0; i < rings_changed; i++) update(changed_rings[i]);
        links_changed = rings_changed = 0;
        return in_heap ? heap[0].finish : NEVER;
    }

    i64 simulate(const i64 *order, const i64 *starts, const i64 *at, const i64 *server,
                 const i64 *workers, i64 limit) {
        reset();
        const u64 jobs_in_all = rings.size();
        u64 begun = 0;
        while (begun < jobs_in_all || running > 0) {
            const i64 completion = next_completion();
            const i64 beginning = begun < jobs_in_all ? starts[order[begun]] : NEVER;
            if (std::min(completion, beginning) > limit)
                return completion == NEVER && beginning == NEVER ? STUCK : LATE;
            if (completion <= beginning) {
                if (completion == NEVER) return STUCK;
                clock = completion;
                while (in_heap > 0 && heap[0].finish == clock) {
                    const u32 job = heap[0].job;
                    heap_remove(job);
                    leave(job);
                    running--;
                    for (i64 p = at[job]; p < at[job + 1]; p++) busy[server[p]] -= workers[p];
                }
                if (completion < beginning) continue;
            }
            clock = beginning;
            while (begun < jobs_in_all && starts[order[begun]] == beginning) {
                const i64 job = order[begun++];
                for (i64 p = at[job]; p < at[job + 1]; p++) {
                    busy[server[p]] += workers[p];
                    if (busy[server[p]] > server_gpus[server[p]]) return OVERFULL;
                }
                start(job, server + at[job], workers + at[job], at[job + 1] - at[job]);
            }
        }
        return clock;
    }
};

extern "C" {

Simulation *make(double slot_seconds, double overhead_ms_per_server, i64 jobs_in_all, i64 servers,
                 i64 links, const Job *jobs, const i64 *packed, const i64 *server_gpus,
                 const u32 *path_at, const u32 *path, const u32 *member_at, const u32 *row_at,
                 const double *share) {
    auto *made = new Simulation{slot_seconds, overhead_ms_per_server, jobs,   packed, server_gpus,
                                path_at,      path,                   member_at, row_at, share};
    made->rings.resize(jobs_in_all);
    made->heap.resize(jobs_in_all);
    made->changed_rings.resize(jobs_in_all);
    made->links.resize(links);
    made->changed_links.resize(links);
    made->touched.resize(links);
    made->members.resize(member_at[jobs_in_all]);
    made->row.resize(row_at[links]);
    made->busy.resize(servers);
    for (i64 i = 0; i < links; i++) made->links[i].row = row_at[i];
    return made;
}

i64 run(Simulation *made, const i64 *order, const i64 *starts, const i64 *at, const i64 *server,
        const i64 *workers, i64 limit, i64 times, i64 *finish) {
    i64 makespan = 0;
    for (i64 i = 0; i < times; i++)
        makespan = made->simulate(order, starts, at, server, workers, limit);
    for (u64 job = 0; job < made->rings.size(); job++) finish[job] = made->rings[job].finish;
    return makespan;
}

void destroy(Simulation *made) { delete made; }
}

#pragma once

#include "profile/profile.hpp"

/// The keys of every object of the break-even file, once, for the writer and the reader both.
/// A visitor is called as v(key, member, rule) in the order in which keys are written.
namespace breakeven::profile {

/// What a number must satisfy besides being finite. Strings and containers ignore it.
enum class Rule { any, non_negative, positive };

template <class V>
void fields(V& v, Measurement& m) {
  v("median_s", m.median_s, Rule::non_negative);
  v("lo_s", m.lo_s, Rule::non_negative);
  v("hi_s", m.hi_s, Rule::non_negative);
  v("count", m.count, Rule::non_negative);
  v("stopped", m.stopped, Rule::any);
  v("samples_s", m.samples_s, Rule::non_negative);
}

template <class V>
void fields(V& v, Estimate& e) {
  v("value", e.value, Rule::any);
  v("lo", e.lo, Rule::any);
  v("hi", e.hi, Rule::any);
}

template <class V>
void fields(V& v, Tool& t) {
  v("version", t.version, Rule::any);
  v("revision", t.revision, Rule::any);
  v("argv", t.argv, Rule::any);
  v("started_utc", t.started_utc, Rule::any);
  v("duration_s", t.duration_s, Rule::non_negative);
}

template <class V>
void fields(V& v, Node& n) {
  v("cpu_model", n.cpu_model, Rule::any);
  v("os", n.os, Rule::any);
  v("kernel", n.kernel, Rule::any);
  v("hypervisor", n.hypervisor, Rule::any);
  v("governor", n.governor, Rule::any);
  v("fingerprint", n.fingerprint, Rule::any);
  v("logical_cpus", n.logical_cpus, Rule::non_negative);
  v("usable_cpus", n.usable_cpus, Rule::non_negative);
  v("numa_nodes", n.numa_nodes, Rule::non_negative);
  v("memory_bytes", n.memory_bytes, Rule::non_negative);
  v("memory_limit_bytes", n.memory_limit_bytes, Rule::non_negative);
  v("last_level_cache_bytes", n.last_level_cache_bytes, Rule::non_negative);
  v("cpu_features", n.cpu_features, Rule::any);
  v("libraries", n.libraries, Rule::any);
}

template <class V>
void fields(V& v, WindowTerm& w) {
  v("window_tokens", w.window_tokens, Rule::positive);
  v("bytes_per_token", w.bytes_per_token, Rule::non_negative);
}

template <class V>
void fields(V& v, LayerKind& k) {
  v("name", k.name, Rule::any);
  v("count", k.count, Rule::non_negative);
}

template <class V>
void fields(V& v, Model& m) {
  v("name", m.name, Rule::any);
  v("family", m.family, Rule::any);
  v("source", m.source, Rule::any);
  v("parameters", m.parameters, Rule::non_negative);
  v("active_parameters", m.active_parameters, Rule::non_negative);
  v("layer_kinds", m.layer_kinds, Rule::any);
  v("kv_dtype", m.kv_dtype, Rule::any);
  v("kv_bytes_per_token", m.kv_bytes_per_token, Rule::non_negative);
  v("kv_windows", m.kv_windows, Rule::any);
  v("state_bytes", m.state_bytes, Rule::non_negative);
  v("checkpoint_tokens", m.checkpoint_tokens, Rule::non_negative);
  v("tensor_parallel", m.tensor_parallel, Rule::positive);
  v("chunk_tokens", m.chunk_tokens, Rule::positive);
  v("block_tokens", m.block_tokens, Rule::positive);
  v("overrides", m.overrides, Rule::any);
  v("assumptions", m.assumptions, Rule::any);
}

template <class V>
void fields(V& v, DenseCurve& d) {
  v("new_tokens", d.new_tokens, Rule::positive);
  v("seconds", d.seconds, Rule::any);
}

template <class V>
void fields(V& v, AttentionGrid& g) {
  v("layer_kind", g.layer_kind, Rule::any);
  v("context_tokens", g.context_tokens, Rule::non_negative);
  v("new_tokens", g.new_tokens, Rule::positive);
  v("seconds", g.seconds, Rule::any);
}

template <class V>
void fields(V& v, StepCheck& c) {
  v("context_tokens", c.context_tokens, Rule::non_negative);
  v("new_tokens", c.new_tokens, Rule::positive);
  v("measured", c.measured, Rule::any);
  v("predicted_s", c.predicted_s, Rule::non_negative);
  v("relative_error", c.relative_error, Rule::any);
}

template <class V>
void fields(V& v, Prefill& p) {
  v("device", p.device, Rule::any);
  v("device_name", p.device_name, Rule::any);
  v("kernel_source", p.kernel_source, Rule::any);
  v("compute_dtype", p.compute_dtype, Rule::any);
  v("regime", p.regime, Rule::any);
  v("threads", p.threads, Rule::non_negative);
  v("dense", p.dense, Rule::any);
  v("attention", p.attention, Rule::any);
  v("step_checks", p.step_checks, Rule::any);
}

template <class V>
void fields(V& v, BandwidthPoint& b) {
  v("in_flight", b.in_flight, Rule::positive);
  v("bandwidth_Bps", b.bandwidth_Bps, Rule::any);
}

template <class V>
void fields(V& v, PieceKnee& k) {
  v("piece_bytes", k.piece_bytes, Rule::positive);
  v("below_s_per_byte", k.below_s_per_byte, Rule::any);
}

template <class V>
void fields(V& v, LoadModel& l) {
  v("fixed_s", l.fixed_s, Rule::any);
  v("piece_s", l.piece_s, Rule::any);
  v("bandwidth", l.bandwidth, Rule::any);
  v("holdout_median_error", l.holdout_median_error, Rule::non_negative);
  v("holdout_worst_error", l.holdout_worst_error, Rule::non_negative);
  v("knee", l.knee, Rule::any);
}

template <class V>
void fields(V& v, SweepPoint& s) {
  v("bytes", s.bytes, Rule::non_negative);
  v("pieces", s.pieces, Rule::non_negative);
  v("in_flight", s.in_flight, Rule::positive);
  v("holdout", s.holdout, Rule::any);
  v("seconds", s.seconds, Rule::any);
}

template <class V>
void fields(V& v, BreakEven& b) {
  v("verdict", b.verdict, Rule::any);
  v("reason", b.reason, Rule::any);
  v("tokens", b.tokens, Rule::non_negative);
  v("lo_tokens", b.lo_tokens, Rule::non_negative);
  v("hi_tokens", b.hi_tokens, Rule::non_negative);
  v("confidence", b.confidence, Rule::positive);
}

template <class V>
void fields(V& v, Layout& l) {
  v("name", l.name, Rule::any);
  v("chunk_tokens", l.chunk_tokens, Rule::positive);
  v("pieces_per_chunk", l.pieces_per_chunk, Rule::non_negative);
}

template <class V>
void fields(V& v, PlaceRate& p) {
  v("place", p.place, Rule::any);
  v("read_Bps", p.read_Bps, Rule::non_negative);
}

template <class V>
void fields(V& v, Access& a) {
  v("mode", a.mode, Rule::any);
  v("ideal", a.ideal, Rule::any);
  v("engine_share", a.engine_share, Rule::non_negative);
  v("places", a.places, Rule::any);
}

template <class V>
void fields(V& v, LayoutCost& l) {
  v("name", l.name, Rule::any);
  v("bytes", l.bytes, Rule::positive);
  v("pieces", l.pieces, Rule::positive);
  v("seconds", l.seconds, Rule::any);
}

template <class V>
void fields(V& v, Contention& c) {
  v("bytes", c.bytes, Rule::positive);
  v("pieces", c.pieces, Rule::positive);
  v("new_tokens", c.new_tokens, Rule::positive);
  v("load_alone_s", c.load_alone_s, Rule::positive);
  v("prefill_alone_s", c.prefill_alone_s, Rule::positive);
  v("load", c.load, Rule::any);
  v("prefill", c.prefill, Rule::any);
  v("load_slowdown", c.load_slowdown, Rule::positive);
  v("prefill_slowdown", c.prefill_slowdown, Rule::positive);
}

template <class V>
void fields(V& v, Tier& t) {
  v("name", t.name, Rule::any);
  v("spec", t.spec, Rule::any);
  v("kind", t.kind, Rule::any);
  v("status", t.status, Rule::any);
  v("reason", t.reason, Rule::any);
  v("identity", t.identity, Rule::any);
  v("layout", t.layout, Rule::any);
  v("load", t.load, Rule::any);
  v("sweep", t.sweep, Rule::any);
  v("store_Bps", t.store_Bps, Rule::non_negative);
  v("store_synced_Bps", t.store_synced_Bps, Rule::non_negative);
  v("access", t.access, Rule::any);
  v("layouts", t.layouts, Rule::any);
  v("contention", t.contention, Rule::any);
  v("break_even", t.break_even, Rule::any);
}

template <class V>
void fields(V& v, TierAnswer& a) {
  v("tier", a.tier, Rule::any);
  v("load_s", a.load_s, Rule::any);
  v("winner", a.winner, Rule::any);
}

template <class V>
void fields(V& v, LengthAnswer& a) {
  v("prefix_tokens", a.prefix_tokens, Rule::positive);
  v("kv_bytes", a.kv_bytes, Rule::non_negative);
  v("saved_s", a.saved_s, Rule::any);
  v("break_even_Bps", a.break_even_Bps, Rule::non_negative);
  v("tiers", a.tiers, Rule::any);
}

template <class V>
void fields(V& v, FrontierPoint& f) {
  v("tier", f.tier, Rule::any);
  v("prompt_tokens", f.prompt_tokens, Rule::positive);
  v("fraction", f.fraction, Rule::non_negative);
}

template <class V>
void fields(V& v, Warning& w) {
  v("code", w.code, Rule::any);
  v("message", w.message, Rule::any);
}

template <class V>
void fields(V& v, BreakEvenFile& f) {
  v("status", f.status, Rule::any);
  v("tool", f.tool, Rule::any);
  v("node", f.node, Rule::any);
  v("model", f.model, Rule::any);
  v("prefill", f.prefill, Rule::any);
  v("tiers", f.tiers, Rule::any);
  v("calibrated_lengths", f.calibrated_lengths, Rule::positive);
  v("lengths", f.lengths, Rule::any);
  v("frontier", f.frontier, Rule::any);
  v("warnings", f.warnings, Rule::any);
}

/// Throws error::bad_input when members contradict each other: arrays of unequal length, grids that
/// do not ascend, an interval that leaves its value out, an unknown status.
void validate(const BreakEvenFile& file, const std::string& origin);

} // namespace breakeven::profile

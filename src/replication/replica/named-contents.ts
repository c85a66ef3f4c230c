import type { BaseBatch } from "../../core/log/base.ts";
import { decodeErase, ERASE } from "../../core/records/erase-record.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { HistoryNeeds } from "../../engine/log/history-needs.ts";
import { baseOf } from "../../engine/log/project.ts";

/**
 * Returns the contents that an event names, by the rule of `verify`; those of its base's rows come with
 * `contentsOfRows`. An event that takes an erasure back names the contents that are there again.
 */
export function contentsOf(event: LogEvent): readonly Hash[] {
  if (!event.recordId.startsWith(ERASE)) return collect((needs) => needs.event(event, ""));
  const { state, contents } = decodeErase(event.record);
  return state === "withdrawn" ? contents : [];
}

/** Returns the base on which an event starts the history, or `undefined`. */
export function baseNamedBy(event: LogEvent): Hash | undefined {
  return baseOf(event);
}

/** Returns the contents that some rows of that base name. */
export function contentsOfRows(rows: BaseBatch, event: Pick<LogEvent, "seq">): Hash[] {
  return collect((needs) => needs.rows(rows, event, ""));
}

function collect(give: (needs: HistoryNeeds) => void): Hash[] {
  const hashes: Hash[] = [];
  const needs = new HistoryNeeds({}, ({ hash }) => hashes.push(hash));
  give(needs);
  needs.finish();
  return hashes;
}

import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { DuShape } from "../../../src/api/shapes.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { useSessions } from "../data/queries.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { sessionName } from "../parts/session-name.ts";
import { shortTime } from "../parts/time.tsx";
import { counted, size } from "../parts/words.ts";
import { Bars } from "./bars.tsx";
import { Beside } from "./beside.tsx";
import { Prune } from "./prune.tsx";
import { Retention } from "./retention.tsx";
import "./space.css";

type By = "session" | "path" | "age";

const NAMES: Readonly<Record<By, string>> = { path: "by folder", session: "by session", age: "by age" };

/** Shows how much space the history takes, and what takes the space. */
export function SpacePage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const on = useWorkspaceApi(workspace);
  const [by, setBy] = useState<By>("path");
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "du", by],
    queryFn: () => on.du({ by }),
    staleTime: 30_000,
  });
  const nameOf = useGroupNames(workspace, by);
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading what="Adding up" />;
  const { blobs, total_bytes, groups = [] } = data;
  return (
    <div className="space">
      <section className="panel">
        <h1>{size(total_bytes)} in all workspaces</h1>
        <p className="quiet">
          {counted(blobs.count, "content")} of {size(blobs.content_bytes)}, each kept once. Caches are made again when
          they are missing.
        </p>
        <Bars rows={partsOf(data).map(([name, bytes]) => ({ key: name, name, bytes }))} />
      </section>
      <section className="panel">
        <h2>
          This workspace{" "}
          <select value={by} aria-label="Divide" onChange={(event) => setBy(event.target.value as By)}>
            {(Object.keys(NAMES) as By[]).map((one) => (
              <option key={one} value={one}>
                {NAMES[one]}
              </option>
            ))}
          </select>
        </h2>
        <Bars
          rows={groups
            .toSorted((a, b) => b.content_bytes - a.content_bytes)
            .map(({ name, content_bytes: bytes, count }) => ({ key: name, name: nameOf(name), bytes, count }))}
        />
      </section>
      <Beside />
      <Retention workspace={workspace} />
      <Prune workspace={workspace} />
    </div>
  );
}

type Part = readonly [name: string, bytes: number];

/** Returns what the store takes. Parts that most stores do not have are left out where they are empty. */
function partsOf({ blobs, log_bytes: logs, index_bytes: indexes, other_bytes: other, other_parts: parts }: DuShape) {
  const others: readonly Part[] = [
    ["caches", parts.cache_bytes + parts.stat_cache_bytes],
    ["unused room", parts.unused_bytes],
    ["damaged files", parts.quarantine_bytes],
    ["forgotten", parts.forgotten_bytes],
  ];
  const rest = others.reduce((left, [, bytes]) => left - bytes, other);
  const shown = others.filter(([, bytes]) => bytes > 0).toSorted(([, a], [, b]) => b - a);
  const known: readonly Part[] = [
    ["contents", blobs.stored_bytes],
    ["logs", logs],
    ["indexes", indexes],
  ];
  return [...known, ...shown, ["the rest", Math.max(0, rest)] as const];
}

/**
 * Returns a function from the name of a group to words for people. The words for a session are its command or its
 * agent.
 */
function useGroupNames(workspace: string, by: By): (name: string) => string {
  const { data = [] } = useSessions(workspace);
  if (by !== "session") return (name) => name;
  const sessions = new Map(data.map((one) => [one.session_id, one]));
  return (name) => {
    const one = sessions.get(name);
    return one === undefined ? name : `${sessionName(one)}, ${shortTime(Date.parse(one.started))}`;
  };
}

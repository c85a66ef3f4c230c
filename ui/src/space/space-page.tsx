import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { PruneShape } from "../../../src/api/action-shapes.ts";
import { useApi, useMayChange, useWorkspaceApi } from "../data/api.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { counted, size, visible } from "../parts/words.ts";
import "./space.css";

type By = "session" | "path" | "age";

const NAMES: Readonly<Record<By, string>> = { path: "by folder", session: "by session", age: "by age" };

/** How much the history takes, and where it goes. */
export function SpacePage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const on = useWorkspaceApi(workspace);
  const [by, setBy] = useState<By>("path");
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "du", by],
    queryFn: () => on.du({ by }),
    staleTime: 30_000,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading what="Adding up" />;
  const { blobs, log_bytes, index_bytes, other_bytes, total_bytes, groups = [] } = data;
  const parts = [
    ["contents", blobs.stored_bytes],
    ["logs", log_bytes],
    ["indexes", index_bytes],
    ["other", other_bytes],
  ] as const;
  return (
    <div className="space">
      <section className="panel">
        <h1>{size(total_bytes)} in all workspaces</h1>
        <p className="quiet">
          {counted(blobs.count, "content")} of {size(blobs.content_bytes)}, each kept once.
        </p>
        <Bars rows={parts.map(([name, bytes]) => ({ name, bytes }))} />
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
            .map(({ name, content_bytes: bytes, count }) => ({ name, bytes, count }))}
        />
      </section>
      <Retention workspace={workspace} />
    </div>
  );
}

interface Row {
  readonly name: string;
  readonly bytes: number;
  readonly count?: number;
}

const MOST = 40;

function Bars({ rows }: { readonly rows: readonly Row[] }) {
  const most = Math.max(1, ...rows.map(({ bytes }) => bytes));
  if (rows.length === 0) return <p className="quiet">Nothing yet.</p>;
  return (
    <ul className="bars">
      {rows.slice(0, MOST).map(({ name, bytes, count }) => (
        <li key={name}>
          <span className="bar-name" title={visible(name)}>
            {visible(name)}
          </span>
          <span className="bar" aria-hidden="true">
            <span style={{ width: `${(bytes / most) * 100}%` }} />
          </span>
          <span className="bar-size">{size(bytes)}</span>
          <span className="quiet bar-count">{count === undefined ? "" : counted(count, "content")}</span>
        </li>
      ))}
    </ul>
  );
}

/** What a prune would give up, and what it would keep. */
function PruneLook({ prune }: { readonly prune: PruneShape }) {
  const { pruned_actions, pruned_snapshots, kept_actions, kept_snapshots, too_young, freed_contents, freed_bytes } =
    prune;
  const given = pruned_actions.length + pruned_snapshots.length;
  if (given === 0 && freed_contents === 0) return <p>A prune would give up nothing now.</p>;
  return (
    <>
      <p>
        A prune would free {size(freed_bytes)} ({counted(freed_contents, "content")}), and give up{" "}
        {counted(pruned_actions.length, "action")} and {counted(pruned_snapshots.length, "snapshot")}.
      </p>
      <p className="quiet">
        {counted(kept_actions, "action")} and {counted(kept_snapshots, "snapshot")} would stay;{" "}
        {counted(too_young, "of them is", "of them are")} only kept because of their age.
      </p>
    </>
  );
}

function Retention({ workspace }: { readonly workspace: string }) {
  const on = useWorkspaceApi(workspace);
  const { me } = useApi();
  const mayChange = useMayChange() && me.role === "operator";
  const [isWanted, setWanted] = useState(false);
  const preview = useQuery({
    queryKey: ["workspace", workspace, "prune"],
    queryFn: () => on.prune({ dryRun: true }),
    enabled: isWanted,
    retry: false,
  });
  if (!mayChange) return null;
  return (
    <section className="panel">
      <h2>What could be given up</h2>
      <p className="quiet">
        A prune gives up old contents that no rule keeps. This only looks; the command line does it.
      </p>
      {preview.data === undefined ? (
        <button
          type="button"
          className="button"
          onClick={() => setWanted(true)}
          disabled={isWanted && preview.isPending}
        >
          Look what a prune would do
        </button>
      ) : (
        <PruneLook prune={preview.data} />
      )}
      {preview.error === null ? null : <Problem error={preview.error} />}
    </section>
  );
}

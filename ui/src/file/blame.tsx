import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { useQuery } from "@tanstack/react-query";
import type { BlameOriginShape } from "../../../src/api/file-api.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { hueOf } from "../parts/actor.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { exactTime } from "../parts/time.tsx";
import { visible, visibleLine } from "../parts/words.ts";

interface BlameProps {
  readonly workspace: string;
  readonly path: string;
  readonly at: string | undefined;
}

const LINE_PX = 20;

/** Each line of the file with who wrote it, when, and in which work. */
export function Blame({ workspace, path, at }: BlameProps) {
  const on = useWorkspaceApi(workspace);
  const box = useRef<HTMLDivElement>(null);
  const { data, error } = useQuery({
    queryKey: ["workspace", workspace, "blame", path, at ?? ""],
    queryFn: () => on.blame(path, at === undefined ? {} : { at }),
    retry: false,
  });
  const rows = useVirtualizer({
    count: data?.lines.length ?? 0,
    getScrollElement: () => box.current,
    estimateSize: () => LINE_PX,
    overscan: 30,
  });
  if (error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading what="Finding who wrote each line" />;
  return (
    // Whoever has no pointer must be able to scroll the lines.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div ref={box} className="blame" tabIndex={0} role="region" aria-label="Who wrote each line">
      <div style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map(({ index, start }) => {
          const line = data.lines[index];
          const origin = data.origins[line?.origin ?? -1];
          if (line === undefined || origin === undefined) return null;
          const isFirst = data.lines[index - 1]?.origin !== line.origin;
          return (
            <div
              key={line.line}
              className={isFirst ? "blame-line first" : "blame-line"}
              style={{ transform: `translateY(${start}px)` }}
            >
              <span className={`blame-origin hue-${hueOf(origin.actor)}`} title={titleOf(origin)}>
                {isFirst ? nameOf(origin) : ""}
              </span>
              <span className="blame-number">{line.line}</span>
              <code>{visibleLine(line.text)}</code>
            </div>
          );
        })}
      </div>
    </div>
  );
}

function nameOf({ kind, actor, timestamp, title }: BlameOriginShape): string {
  if (kind === "unrecorded") return "not recorded yet";
  const day = timestamp === null ? "" : new Date(timestamp).toISOString().slice(0, 10);
  return visible([actor === "" ? kind : actor, day, title ?? ""].filter((text) => text !== "").join(" · "));
}

function titleOf(origin: BlameOriginShape): string {
  const { timestamp, title, turn, path } = origin;
  const when = timestamp === null ? "" : exactTime(timestamp);
  return [nameOf(origin), when, title ?? "", turn === undefined ? "" : `turn ${turn}`, path]
    .filter((text) => text !== "")
    .map(visible)
    .join("\n");
}

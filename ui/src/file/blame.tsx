import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { BlameOriginShape } from "../../../src/api/file-api.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { type WorkRef, workText } from "../data/work-ref.ts";
import { hueOf } from "../parts/actor.tsx";
import { givenPath } from "../parts/given-path.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { exactTime, shortTime } from "../parts/time.tsx";
import { visible, visibleLine } from "../parts/words.ts";

interface BlameProps {
  readonly workspace: string;
  readonly path: string;
  readonly at: string | undefined;
}

const LINE_PX = 20;

/** Shows the lines of the file, each with who wrote the line, when, and in which work. */
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
    // A person without a pointer must be able to scroll the lines.
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
              <Origin workspace={workspace} origin={origin} isFirst={isFirst} />
              <span className="blame-number">{line.line}</span>
              <code>{visibleLine(line.text)}</code>
            </div>
          );
        })}
      </div>
    </div>
  );
}

interface OriginProps {
  readonly workspace: string;
  readonly origin: BlameOriginShape;
  /** False if the line before has the same origin. The origin is then not named again. */
  readonly isFirst: boolean;
}

/** Shows who wrote a line, as a link to the work. */
function Origin({ workspace, origin, isFirst }: OriginProps) {
  const work = workOfOrigin(origin);
  const hue = origin.kind === "recorded" && origin.actor !== "" ? `hue-${hueOf(origin.actor)}` : "nobody";
  if (!isFirst || work === undefined)
    return (
      <span className={`blame-origin ${hue}`} title={titleOf(origin)}>
        {isFirst ? nameOf(origin) : ""}
      </span>
    );
  return (
    <Link
      to="/w/$workspace/changes"
      params={{ workspace }}
      search={{ work: workText(work), file: givenPath(origin) }}
      className={`blame-origin ${hue}`}
      title={titleOf(origin)}
    >
      {nameOf(origin)}
    </Link>
  );
}

function workOfOrigin({ turn, session, action, kind }: BlameOriginShape): WorkRef | undefined {
  if (kind !== "recorded") return undefined;
  if (turn !== undefined) return { select: session === undefined ? { turn } : { turn, session } };
  if (action !== undefined) return { select: { action } };
  return session === undefined ? undefined : { select: { session } };
}

const WORDS: Partial<Record<BlameOriginShape["kind"], string>> = {
  unrecorded: "not recorded yet",
  nobody: "person",
};

function nameOf({ kind, actor, timestamp, title }: BlameOriginShape): string {
  const who = WORDS[kind] ?? (actor === "" ? kind : actor === "human" ? "person" : actor);
  const when = timestamp === null ? "" : shortTime(timestamp);
  return visible([who, when, title ?? ""].filter((text) => text !== "").join(" · "));
}

function titleOf(origin: BlameOriginShape): string {
  const { timestamp, title, turn, path } = origin;
  const when = timestamp === null ? "" : exactTime(timestamp);
  return [nameOf(origin), when, title ?? "", turn === undefined ? "" : `turn ${turn}`, path]
    .filter((text) => text !== "")
    .map(visible)
    .join("\n");
}

import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { type ComponentProps, lazy, Suspense, useState } from "react";
import type { RecentItem } from "../../../src/api/recent-api.ts";
import type { IterationShape } from "../../../src/api/shapes.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { useIterations, useRecent, useText } from "../data/queries.ts";
import { Actor } from "../parts/actor.tsx";
import { readName } from "../parts/given-path.ts";
import { PathText } from "../parts/path-text.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { Ago, exactTime } from "../parts/time.tsx";
import { size, visible } from "../parts/words.ts";
import { useKeys } from "../shell/use-keys.ts";
import { filePlan } from "../undo/plan.ts";
import { PlanButton } from "../undo/take-back.tsx";
import { Blame } from "./blame.tsx";
import "./file.css";

const DiffView = lazy(async () => ({ default: (await import("../changes/diff-view.tsx")).DiffView }));

/** Shows one file through time: each state, who made the state, and how to go back to it. */
export function FilePage() {
  const { workspace } = useParams({ from: "/w/$workspace" });
  const { path } = useSearch({ from: "/w/$workspace/file" });
  if (path === undefined) return <Empty title="No file is chosen" />;
  return <FileHistory key={path} workspace={workspace} path={path} />;
}

function FileHistory({ workspace, path }: { readonly workspace: string; readonly path: string }) {
  const { n, beside } = useSearch({ from: "/w/$workspace/file" });
  const navigate = useNavigate({ from: "/w/$workspace/file" });
  const { data, error } = useIterations(workspace, path);
  const [tab, setTab] = useState<"change" | "lines">("change");
  const last = data?.at(-1)?.iteration ?? 1;
  const number = Math.min(last, Math.max(1, n === undefined ? last : Number(n)));
  const go = (to: number): void =>
    void navigate({ replace: true, search: (now) => ({ ...now, n: String(Math.min(last, Math.max(1, to))) }) });
  useKeys({ ",": () => go(number - 1), ".": () => go(number + 1), k: () => go(number + 1), j: () => go(number - 1) });
  if (data === undefined && error !== null) return <Problem error={error} />;
  if (data === undefined) return <Loading what="Reading the history of the file" />;
  const current = data.find(({ iteration }) => iteration === number);
  const other = beside === undefined ? number - 1 : Number(beside);
  const before = data.find(({ iteration }) => iteration === other);
  if (current === undefined) return <Empty title="This state is not in the history" />;
  return (
    <div className="file-page">
      <header className="file-page-head">
        <h1>
          <PathText path={path} />
        </h1>
        <FileActions
          workspace={workspace}
          path={path}
          iteration={current}
          before={data.find(({ iteration }) => iteration === number - 1)}
          isLast={number === last}
        />
      </header>
      <IterationSlider iteration={current} last={last} onChoose={go} />
      <div className="tabs" role="tablist">
        <TabButton isOn={tab === "change"} onChoose={() => setTab("change")} name="What it changed" />
        <TabButton isOn={tab === "lines"} onChoose={() => setTab("lines")} name="Who wrote each line" />
      </div>
      {tab === "change" ? (
        <>
          <ComparedWith iterations={data} current={number} beside={beside} />
          <IterationDiff workspace={workspace} path={path} before={before} after={current} />
        </>
      ) : (
        <Blame workspace={workspace} path={path} at={number === last ? undefined : `seq:${current.seq}`} />
      )}
      <IterationList workspace={workspace} path={path} iterations={data} current={number} />
    </div>
  );
}

interface IterationSliderProps {
  readonly iteration: IterationShape;
  readonly last: number;
  readonly onChoose: (iteration: number) => void;
}

function IterationSlider({ iteration, last, onChoose }: IterationSliderProps) {
  const { iteration: number, timestamp } = iteration;
  return (
    <div className="iteration-slider">
      <input
        type="range"
        min={1}
        max={last}
        value={number}
        aria-label="State of the file"
        aria-valuetext={`${number} of ${last}, ${exactTime(timestamp)}`}
        onChange={(event) => onChoose(Number(event.target.value))}
      />
      <span className="quiet">
        {number} of {last}
      </span>
      <Iteration iteration={iteration} />
    </div>
  );
}

interface ComparedWithProps {
  readonly iterations: readonly IterationShape[];
  readonly current: number;
  readonly beside: string | undefined;
}

/** Lets a person choose the state with which the shown state is compared. */
function ComparedWith({ iterations, current, beside }: ComparedWithProps) {
  const navigate = useNavigate({ from: "/w/$workspace/file" });
  const choose = (iteration: string): void =>
    void navigate({
      replace: true,
      search: ({ beside: _before, ...now }) => (iteration === "" ? now : { ...now, beside: iteration }),
    });
  if (iterations.length < 2) return null;
  return (
    <label className="compared-with">
      Compared with{" "}
      <select value={beside ?? ""} onChange={(event) => choose(event.target.value)}>
        <option value="">the state before it</option>
        {iterations
          .toReversed()
          .slice(0, MOST)
          .filter(({ iteration }) => iteration !== current)
          .map(({ iteration, actor, timestamp }) => (
            <option key={iteration} value={String(iteration)}>
              {iteration}, {visible(actor)}, {exactTime(timestamp)}
            </option>
          ))}
      </select>
    </label>
  );
}

function TabButton({
  isOn,
  onChoose,
  name,
}: {
  readonly isOn: boolean;
  readonly onChoose: () => void;
  readonly name: string;
}) {
  return (
    <button type="button" role="tab" aria-selected={isOn} className="tab" onClick={onChoose}>
      {name}
    </button>
  );
}

/** The words for causes whose names are terms of the format. */
const CAUSES: Readonly<Record<string, string>> = { capture: "edit", action: "tool call" };

function Iteration({ iteration }: { readonly iteration: IterationShape }) {
  const { actor, cause, timestamp, deleted, size: bytes } = iteration;
  return (
    <span className="iteration-facts">
      <Actor actor={actor} who={whoOf(iteration)} />
      <span className="quiet">{CAUSES[cause] ?? cause}</span>
      <Ago at={new Date(timestamp).toISOString()} />
      {deleted === true ? <span className="tag warn">deleted</span> : <span className="quiet">{size(bytes)}</span>}
    </span>
  );
}

/**
 * Returns the kind of the actor of an iteration, as far as the iteration shows it. A name alone does not distinguish
 * agents from commands.
 */
function whoOf({ actor, cause, turn, action, upstream, replica }: IterationShape): ComponentProps<typeof Actor>["who"] {
  if (replica !== undefined) return "replica";
  if (upstream !== undefined) return "origin";
  if (cause === "run") return "command";
  if (actor === "human") return "person";
  return turn === undefined && action === undefined ? "unknown" : "agent";
}

interface FileActionsProps {
  readonly workspace: string;
  readonly path: string;
  readonly iteration: IterationShape;
  /** The state before `iteration`. */
  readonly before: IterationShape | undefined;
  readonly isLast: boolean;
}

function FileActions({ workspace, path, iteration, before, isLast }: FileActionsProps) {
  const on = useWorkspaceApi(workspace);
  const save = useMutation({
    mutationFn: async () => saveAs(path, await collect(await on.cat(path, iteration.iteration))),
  });
  return (
    <div className="file-actions">
      {save.error === null ? null : <Problem error={save.error} />}
      {iteration.deleted === true || iteration.kind === "dir" ? null : (
        <button type="button" className="button" onClick={() => save.mutate()} disabled={save.isPending}>
          <Download size={14} aria-hidden="true" /> Save a copy
        </button>
      )}
      {isLast ? null : <PlanButton workspace={workspace} plan={filePlan(path, iteration)} subject={path} />}
      {isLast && iteration.deleted === true && before !== undefined ? (
        <PlanButton workspace={workspace} plan={{ ...filePlan(path, before), title: "Bring it back" }} subject={path} />
      ) : null}
    </div>
  );
}

async function collect({
  size: length,
  pieces,
}: {
  readonly size: number;
  readonly pieces: () => AsyncIterable<Uint8Array>;
}): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  let at = 0;
  for await (const piece of pieces()) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/** Makes the browser save bytes as a file. The type keeps the browser from showing the bytes instead. */
function saveAs(path: string, bytes: Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = readName(path);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

interface IterationDiffProps {
  readonly workspace: string;
  readonly path: string;
  readonly before: IterationShape | undefined;
  readonly after: IterationShape;
}

function IterationDiff({ workspace, path, before, after }: IterationDiffProps) {
  const [, setCounts] = useState({ added: 0, removed: 0 });
  const hashOf = (one: IterationShape | undefined): string =>
    one === undefined || one.deleted === true || one.kind === "dir" ? "" : one.hash;
  const old = useText(workspace, hashOf(before), before?.size ?? 0);
  const now = useText(workspace, hashOf(after), after.size);
  const error = old.error ?? now.error;
  if (error !== null) return <Problem error={error} />;
  if (old.data === undefined || now.data === undefined)
    return old.isLoading || now.isLoading ? (
      <Loading what="Reading the contents" />
    ) : (
      <p className="quiet note">It is too large to be shown here: {size(after.size)}.</p>
    );
  if (old.data.isBinary || now.data.isBinary) return <p className="quiet note">A binary file of {size(after.size)}.</p>;
  return (
    <Suspense fallback={<Loading what="Opening the editor" />}>
      <DiffView
        before={old.data.text}
        after={now.data.text}
        path={path}
        layout="unified"
        isLoose={false}
        onCounts={setCounts}
      />
    </Suspense>
  );
}

interface IterationListProps {
  readonly workspace: string;
  readonly path: string;
  readonly iterations: readonly IterationShape[];
  readonly current: number;
}

const MOST = 500;

/** The number of the newest lines of the timeline that are searched for the reasons of states. */
const LINES_READ = 60;

/** Returns what the work that made a state was for, such as the prompt of its turn or the command of its run. */
function reasonFor({ seq, session, operation }: IterationShape, items: readonly RecentItem[]): string | undefined {
  const isOf = ({ kind, id, session: own, from_seq: from, to_seq: to }: RecentItem): boolean =>
    id === (operation ?? session) || (kind === "turn" && own === session && from < seq && seq <= to);
  return items.find(isOf)?.summary;
}

function IterationList({ workspace, path, iterations, current }: IterationListProps) {
  const { data } = useRecent(workspace, LINES_READ);
  return (
    <section className="iterations" aria-label="All states of the file, newest first">
      <h2>All states</h2>
      <ol>
        {iterations
          .toReversed()
          .slice(0, MOST)
          .map((one) => (
            <li key={one.iteration}>
              <Link
                to="/w/$workspace/file"
                params={{ workspace }}
                search={{ path, n: String(one.iteration) }}
                replace
                className="iteration"
                aria-current={one.iteration === current ? "true" : undefined}
              >
                <span className="quiet iteration-number">{one.iteration}</span>
                <Iteration iteration={one} />
                <span className="iteration-why">{visible(reasonFor(one, data?.items ?? []) ?? "")}</span>
              </Link>
            </li>
          ))}
      </ol>
      {iterations.length > MOST ? <p className="quiet">The slider reaches all older ones.</p> : null}
    </section>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ShieldAlert, ShieldCheck } from "lucide-react";
import type { WorkspaceShape } from "../../../src/api/shapes.ts";
import { useWorkspaceApi } from "../data/api.ts";
import { keyOf } from "../data/newer-lines.ts";
import { LATELY, recentQuery, useWorkspaces } from "../data/queries.ts";
import { workOf, workText } from "../data/work-ref.ts";
import { Actor } from "../parts/actor.tsx";
import { Command } from "../parts/command.tsx";
import { PathText } from "../parts/path-text.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { OutcomeTag } from "../parts/outcome.tsx";
import { Ago, useNow } from "../parts/time.tsx";
import { UndoneTag } from "../undo/undone-tag.tsx";
import { counted, visible } from "../parts/words.ts";
import { lastCheck } from "../integrity/last-check.ts";
import { AtWork } from "./at-work.tsx";
import { Health } from "./health.tsx";
import { nameOf } from "./workspace-name.ts";
import { RecordingSign } from "./recording-sign.tsx";
import { Spark } from "./spark.tsx";
import "./home.css";

/** The number of workspaces whose activity is read. The others are listed only with their name and time. */
const DETAILED = 24;

/** Shows all workspaces of the store. The workspace that was used last comes first. */
export function Home() {
  const { data, error, refetch } = useWorkspaces();
  if (data === undefined && error !== null) return <Problem error={error} onAgain={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data.length === 0) return <FirstRun />;
  const sorted = data.toSorted((a, b) => (b.last_event ?? b.created).localeCompare(a.last_event ?? a.created));
  return (
    <div className="home">
      <Health shapes={sorted.slice(0, DETAILED)} />
      <AtWork shapes={sorted.slice(0, DETAILED)} />
      <h1>Workspaces</h1>
      <ul className="cards">
        {sorted.slice(0, DETAILED).map((one) => (
          <WorkspaceCard key={one.id} shape={one} />
        ))}
      </ul>
      {sorted.length > DETAILED ? <MoreWorkspaces shapes={sorted.slice(DETAILED)} /> : null}
    </div>
  );
}

function FirstRun() {
  return (
    <Empty title="Nothing is recorded yet">
      <ol className="first-run">
        <li>
          Go to a folder, and record what is there: <Command text="chronicle init" />
        </li>
        <li>
          Let your agent be recorded: <Command text="chronicle agents install claude" />
        </li>
        <li>
          Or record one command: <Command text="chronicle run -- npm test" />
        </li>
      </ol>
      <p className="quiet">This page shows the folder as soon as it is recorded.</p>
    </Empty>
  );
}

function WorkspaceCard({ shape }: { readonly shape: WorkspaceShape }) {
  const { id, last_event, created, present, archived, problem, roots } = shape;
  return (
    <li className="card">
      <Link to="/w/$workspace" params={{ workspace: id }} className="card-title">
        <PathText path={nameOf(shape)} />
      </Link>
      <div className="card-facts">
        <Ago at={last_event ?? created} />
        {roots.length > 1 ? <span className="tag">{counted(roots.length, "folder")}</span> : null}
        {archived === true ? <span className="tag">archived</span> : null}
        {present ? null : <span className="tag warn">the folder is gone</span>}
        {problem === undefined ? <RecordingSign workspace={id} /> : null}
        <CheckSign workspace={id} />
      </div>
      {problem === undefined ? <Activity id={id} /> : <p className="card-problem">{problem}</p>}
    </li>
  );
}

/** Shows when the history was last checked in this browser, and with which result. */
function CheckSign({ workspace }: { readonly workspace: string }) {
  const check = lastCheck(workspace);
  const Icon = check !== undefined && check.problems > 0 ? ShieldAlert : ShieldCheck;
  return (
    <Link
      to="/w/$workspace/integrity"
      params={{ workspace }}
      className={check !== undefined && check.problems > 0 ? "check-sign bad" : "check-sign"}
    >
      <Icon size={13} aria-hidden="true" />{" "}
      {check === undefined ? (
        "not checked here yet"
      ) : (
        <>
          {check.problems === 0 ? (check.isQuick ? "log checked" : "checked") : counted(check.problems, "problem")}{" "}
          <Ago at={check.at} />
        </>
      )}
    </Link>
  );
}

/** Shows the last work of a workspace, and how much was done lately. */
function Activity({ id }: { readonly id: string }) {
  const on = useWorkspaceApi(id);
  const now = useNow();
  const { data, error } = useQuery({ ...recentQuery(on, LATELY, {}), refetchInterval: 5_000 });
  if (data === undefined && error !== null) return <p className="card-problem">{error.message}</p>;
  if (data === undefined) return <div className="activity" />;
  const { items } = data;
  const today = new Date(now).setHours(0, 0, 0, 0);
  const changed = items
    .filter(({ timestamp }) => Date.parse(timestamp) >= today)
    .reduce((sum, one) => sum + one.changed, 0);
  // Only the newest lines are read. If all of them are from today, there are possibly more lines from today.
  const isCut = items.length >= LATELY && Date.parse(items.at(-1)?.timestamp ?? "") >= today;
  return (
    <div className="activity">
      <Spark times={items.filter(({ kind }) => kind !== "baseline").map(({ timestamp }) => Date.parse(timestamp))} />
      <span className="quiet">{todayText(changed, isCut)}</span>
      <ul className="last-work">
        {items.slice(0, 3).map((item) => (
          <li key={keyOf(item)}>
            <Actor actor={item.actor} who={item.who} />
            <Link
              to="/w/$workspace/changes"
              params={{ workspace: id }}
              search={{ work: workText(workOf(item)), title: item.summary }}
              className={item.undone === true ? "work-title undone" : "work-title"}
            >
              {visible(item.summary)}
            </Link>
            <OutcomeTag item={item} />
            {item.partly_undone === true ? <UndoneTag item={item} /> : null}
            <Ago at={item.timestamp} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function todayText(changed: number, isCut: boolean): string {
  if (changed === 0) return "no changes today";
  return `${isCut ? "more than " : ""}${counted(changed, "changed path")} today`;
}

function MoreWorkspaces({ shapes }: { readonly shapes: readonly WorkspaceShape[] }) {
  return (
    <details className="more-workspaces">
      <summary>{counted(shapes.length, "more workspace")}</summary>
      <ul>
        {shapes.map((shape) => (
          <li key={shape.id}>
            <Link to="/w/$workspace" params={{ workspace: shape.id }}>
              <PathText path={nameOf(shape)} />
            </Link>
            <Ago at={shape.last_event ?? shape.created} />
          </li>
        ))}
      </ul>
    </details>
  );
}

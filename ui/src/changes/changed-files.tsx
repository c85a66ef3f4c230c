import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { folderAbove, readName, readPath } from "../parts/given-path.ts";
import { LineCounts, PathText } from "../parts/path-text.tsx";
import { counted, digits, size, visible } from "../parts/words.ts";
import type { FileChange } from "./net-changes.ts";
import type { Seen } from "./seen.ts";
import "./changed-files.css";

interface FileLink {
  readonly workspace: string;
  readonly search: { readonly work?: string; readonly file?: string; readonly title?: string };
}

interface ChangedFilesProps {
  readonly changes: readonly FileChange[];
  /** The address that shows the change of one file. */
  readonly linkOf: (path: string) => FileLink;
  readonly current?: string | undefined;
  /** The changes that this person has looked at. */
  readonly seen?: Seen;
}

const SIGN: Readonly<Record<FileChange["kind"], string>> = {
  created: "+",
  modified: "±",
  deleted: "−",
  permissions: "x",
  renamed: "→",
};

/** The maximum number of files that are shown at once. */
const MOST = 2_000;

/** Shows the changed files, grouped by folder. */
export function ChangedFiles({ changes, linkOf, current, seen }: ChangedFilesProps) {
  if (changes.length === 0) return <p className="quiet">No file was changed.</p>;
  const folders = Map.groupBy(changes.slice(0, MOST), ({ path }) => folderAbove(path));
  return (
    <div className="changed-files">
      <p className="quiet">{summaryOf(changes, changes.filter((one) => seen?.has(one)).length)}</p>
      {seen?.problem === undefined ? null : (
        <p role="alert" className="quiet">
          What you looked at: {seen.problem}
        </p>
      )}
      <ul>
        {[...folders].map(([folder, own]) => (
          <Fragment key={folder}>
            {folder === "" ? null : (
              <li className="folder-line">
                <PathText path={folder} />
              </li>
            )}
            {own.map((change) => (
              <FileLine
                key={change.path}
                change={change}
                link={linkOf(change.path)}
                isCurrent={change.path === current}
                isSeen={seen?.has(change) === true}
              />
            ))}
          </Fragment>
        ))}
      </ul>
      {changes.length > MOST ? <p className="quiet">and {digits(changes.length - MOST)} more</p> : null}
    </div>
  );
}

interface FileLineProps {
  readonly change: FileChange;
  readonly link: FileLink;
  readonly isCurrent: boolean;
  readonly isSeen: boolean;
}

function FileLine({ change, link: { workspace, search }, isCurrent, isSeen }: FileLineProps) {
  const { path, kind, from, entry } = change;
  return (
    <li>
      <Link
        to="/w/$workspace/changes"
        params={{ workspace }}
        search={search}
        className={`file-line ${kind}${isSeen ? " seen" : ""}`}
        aria-current={isCurrent ? "true" : undefined}
        title={from === undefined ? `${kind}: ${visible(readPath(path))}` : `renamed from ${visible(from)}`}
      >
        <span className="change-sign" aria-label={kind}>
          {SIGN[kind]}
        </span>
        <bdi className="path-name">
          {visible(readName(path))}
          {entry === "dir" ? "/" : ""}
        </bdi>
        <span className="quiet file-size">
          {change.kind === "renamed" ? sizeText(change) : null}{" "}
          {change.lines === undefined ? (
            change.kind === "renamed" ? null : (
              sizeText(change)
            )
          ) : (
            <LineCounts {...change.lines} />
          )}
        </span>
      </Link>
    </li>
  );
}

function sizeText({ kind, entry, before, after, beforeSize, afterSize, similarity, permissions }: FileChange): string {
  if (entry === "dir") return "";
  if (kind === "renamed") return similarity === 100 ? "renamed" : `renamed, ${similarity ?? 0} %`;
  if (kind === "created") return size(afterSize);
  if (kind === "deleted") return `was ${size(beforeSize)}`;
  if (kind === "modified" && before === after && permissions === undefined) return "changed and changed back";
  const delta = afterSize - beforeSize;
  if (kind === "permissions") return "permissions";
  return delta === 0 ? "same size" : `${delta > 0 ? "+" : "−"}${size(Math.abs(delta))}`;
}

/** Returns `3 paths: 1 created, 2 modified; 1 looked at`. */
function summaryOf(changes: readonly FileChange[], seen: number): string {
  const kinds = (["created", "modified", "renamed", "deleted", "permissions"] as const)
    .map((kind) => [changes.filter((one) => one.kind === kind).length, kind] as const)
    .filter(([count]) => count > 0)
    .map(([count, kind]) => `${digits(count)} ${kind === "permissions" ? "with other permissions" : kind}`);
  const looked = seen === 0 ? "" : seen === changes.length ? "; all looked at" : `; ${digits(seen)} looked at`;
  return `${counted(changes.length, "path")}: ${kinds.join(", ")}${looked}`;
}

import type { Entry } from "../values/entry.ts";
import { parentOf, type WorkspacePath } from "../values/path.ts";

/** A file that an editor or a desktop makes for its own use. */
interface EditorFile {
  /**
   * The path of the file that is being edited. The found file counts as an editor's file only if a file exists at this
   * path. `undefined` if the found file is an editor's file in any case.
   */
  readonly beside: WorkspacePath | undefined;
}

/**
 * A form of the names that editors give to their own files. If `name` has a group, the first group is the name of the
 * edited file.
 */
interface Form {
  readonly name: RegExp;
  /** Default: `file`. */
  readonly kind?: Entry["kind"];
  /** Returns true if a file of this size can be an editor's file. Default: any size. */
  readonly size?: (bytes: number) => boolean;
  /** Returns true if a file of this size is an editor's file even if the edited file does not exist. */
  readonly alone?: (bytes: number) => boolean;
}

const atMost =
  (most: number) =>
  (bytes: number): boolean =>
    bytes <= most;

/**
 * The maximum length, in bytes, of a lock file. A lock file only names its holder, and contains nothing that a user has
 * written.
 */
const LOCK_BYTES = 1_024;
/** The maximum size, in bytes, of a file with the attributes of another file (`._name`). */
const ATTRIBUTES_BYTES = 1_048_576;

const FORMS: readonly Form[] = [
  // Backups of Emacs, Vim, gedit, joe and Kate, and numbered backups of Emacs.
  { name: /^(.+)\.~\d+~$/s },
  { name: /^(.+)~$/s },
  // Swap files of Vim, which consist of pages of 4 KiB. A swap file counts even if the edited file does not exist,
  // because that file may never have been saved.
  { name: /^\.(.+)\.sw[a-p]$/s, alone: (bytes) => bytes > 0 && bytes % 4_096 === 0 },
  { name: /^\.sw[a-p]$/, size: (bytes) => bytes > 0 && bytes % 4_096 === 0 },
  { name: /^\.(.+)\.kate-swp$/s },
  // Files of Emacs: auto-saves, and locks, which are links to `user@host.pid`.
  { name: /^#(.+)#$/s },
  { name: /^\.#.+$/s, kind: "symlink", size: atMost(LOCK_BYTES) },
  { name: /^\.#(.+)$/s, size: atMost(LOCK_BYTES) },
  // Temporary files of JetBrains and GLib.
  { name: /^.+___jb_(?:tmp|old)___$/s },
  { name: /^\.goutputstream-[0-9A-Z]{6}$/ },
  // Locks of LibreOffice and Microsoft Office.
  { name: /^\.~lock\..+#$/s, size: atMost(LOCK_BYTES) },
  { name: /^~\$.+$/s, size: atMost(LOCK_BYTES) },
  // Files of desktops. macOS: `.DS_Store` (4 bytes, then blocks of 2 KiB) and `._name` (attributes of the file `name`).
  // Windows: `Thumbs.db` (sectors of 512 bytes).
  { name: /^\.DS_Store$/, size: (bytes) => bytes > 2_048 && bytes % 2_048 === 4 },
  { name: /^\._(.+)$/s, size: atMost(ATTRIBUTES_BYTES) },
  { name: /^Thumbs\.db$/, size: (bytes) => bytes >= 1_536 && bytes % 512 === 0 },
  // Names that a file system gives to files that were removed while they were open.
  { name: /^\.nfs[0-9a-f]{24}$/ },
  { name: /^\.fuse_hidden[0-9a-f]{16,24}$/ },
  // Unfinished downloads of Chromium.
  { name: /^.+\.crdownload$/s },
];

/** Returns true if editors give names of this form to files of their own. Ignores kind and size. */
export function isEditorName(path: WorkspacePath): boolean {
  const name = nameOf(path);
  return FORMS.some((form) => form.name.test(name));
}

/**
 * Recognises a file that an editor or a desktop makes temporarily or for its own use. The kind, the name and the size
 * decide. Returns `undefined` for any other file, and for folders, whatever their names are. The caller must check that
 * `beside` exists.
 */
export function editorFile({ path, kind, size }: Pick<Entry, "path" | "kind" | "size">): EditorFile | undefined {
  const name = nameOf(path);
  for (const form of FORMS) {
    const match = form.name.exec(name);
    if (match === null || kind !== (form.kind ?? "file") || form.size?.(size) === false) continue;
    const other = form.alone?.(size) === true ? undefined : match[1];
    const folder = parentOf(path);
    const beside = other === undefined ? undefined : ((folder === "" ? other : `${folder}/${other}`) as WorkspacePath);
    return { beside };
  }
  return undefined;
}

function nameOf(path: WorkspacePath): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** The doors of the package: what an application imports, and the file it stands for. The build and its checks read this list. */

/** From the subpath in `exports` of package.json to the source file. */
export const DOORS: Readonly<Record<string, string>> = {
  '.': 'src/index.ts',
  './sqlite': 'src/adapters/sqlite/index.ts',
  './postgres': 'src/adapters/postgres/index.ts',
  './memory': 'src/adapters/memory/index.ts',
  './keys': 'src/adapters/keys/index.ts',
  './opentelemetry': 'src/adapters/opentelemetry/index.ts',
  './audit-verifier': 'src/audit-verifier/index.ts',
  './storage-conformance': 'src/adapters/conformance/index.ts',
}

/** The name of a door's built files: `./sqlite` is built as `dist/sqlite.js`, the door `.` as `dist/index.js`. */
export function builtName(door: string): string {
  return door === '.' ? 'index' : door.slice('./'.length)
}

/** The entry points of the package: what an application imports, and its source file. The build, the checks and the examples read this list. */

/** From the subpath in `exports` of package.json to the source file, relative to the repository. */
export const ENTRY_POINTS: Readonly<Record<string, string>> = {
  '.': 'src/index.ts',
  './sqlite': 'src/adapters/sqlite/index.ts',
  './postgres': 'src/adapters/postgres/index.ts',
  './memory': 'src/adapters/memory/index.ts',
  './keys': 'src/adapters/keys/index.ts',
  './keys/aws': 'src/adapters/keys/aws/index.ts',
  './keys/google': 'src/adapters/keys/google/index.ts',
  './keys/azure': 'src/adapters/keys/azure/index.ts',
  './keys/pkcs11': 'src/adapters/keys/pkcs11/index.ts',
  './keys/transit': 'src/adapters/keys/transit/index.ts',
  './opentelemetry': 'src/adapters/opentelemetry/index.ts',
  './scanner': 'src/adapters/scanner/index.ts',
  './http': 'src/http/index.ts',
  './config': 'src/cli/config/index.ts',
  './client': 'src/client/index.ts',
  './transfer': 'src/transfer/index.ts',
  './adopt': 'src/adopt/index.ts',
  './errors': 'src/public-errors.ts',
  './audit-verifier': 'src/audit-verifier/index.ts',
  './storage-port': 'src/storage-port.ts',
  './blob-port': 'src/blob-port.ts',
  './blobs': 'src/adapters/blobs/index.ts',
  './blob-conformance': 'src/conformance/blobs/index.ts',
  './key-conformance': 'src/conformance/keys/index.ts',
  './storage-conformance': 'src/conformance/storage/index.ts',
}

/** Returns the name of an entry point's built files: `sqlite` for `./sqlite` (`dist/sqlite.js`), and `index` for `.`. */
export function builtName(entryPoint: string): string {
  return entryPoint === '.' ? 'index' : entryPoint.slice('./'.length)
}

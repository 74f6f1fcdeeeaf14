/** Leaves the driver a package, because it has native code. */

// biome-ignore lint/style/noDefaultExport: Next reads its configuration from the default export.
export default { serverExternalPackages: ['better-sqlite3'] }

/** Entry point "strongroom/sqlite": storage in one SQLite file. */
export { type SqliteOptions, sqliteStorage } from './sqlite-storage.ts'

/** Entry point "strongroom/postgres": storage in a PostgreSQL schema. */

export type { DriverClient, DriverPool, DriverQuery, DriverResult, PooledClient } from './driver-connection.ts'
export { type PostgresOptions, postgresStorage } from './postgres-storage.ts'
export type { PostgresTimeouts } from './timeouts.ts'
export type { PostgresTls } from './tls-options.ts'

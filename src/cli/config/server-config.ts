/** The parts of strongroom.config.ts that `strongroom serve` uses. */
import type { HandlerOptions } from '../../http/index.ts'

/** Options of the HTTP interface, as `createHandler` has them. */
export type HttpConfig = Pick<
  HandlerOptions,
  'baseUrl' | 'tokenURI' | 'names' | 'legacyTables' | 'limits' | 'trustedProxies' | 'forwardedHeader'
>

/** Options of the server. */
export interface ServerConfig {
  /** Port of the interface. Default 8420. */
  readonly port?: number
  /** Address to listen at. Default 127.0.0.1. */
  readonly host?: string
}

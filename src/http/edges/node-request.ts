/** Requests of node:http as frameworks extend them. */
import type { IncomingMessage } from 'node:http'

/** A request of node:http, as frameworks extend it. */
export interface NodeRequest extends IncomingMessage {
  /** What a body parser made of the body. */
  readonly body?: unknown
  /** The path that Express took off `url`. */
  readonly baseUrl?: string
}

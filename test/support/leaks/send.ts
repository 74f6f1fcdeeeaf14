/** Sends requests to a vault, through an optional layer that negative controls use to leak. */
import type { Caller, Vault } from '../../../src/index.ts'
import type { LeakRequest } from './known-values.ts'

/** Sends a request and returns its result. */
export type Send = (request: LeakRequest) => Promise<unknown>

/** The way of requests to a vault. */
export interface Transport {
  readonly send: Send
  /** Whether results have what HTTP leaves out: the fields that are not in plain text, and the table and column of a token. */
  readonly isInProcess: boolean
  /** Returns what it can carry of a request; undefined for nothing. */
  carried(request: LeakRequest): LeakRequest | undefined
  close(): Promise<void>
}

/** Opens a transport for one caller. What it reads beside results goes to `noise`. */
export type OpenTransport = (vault: Vault, watched: { readonly caller: Caller; readonly noise: string[] }) => Promise<Transport>

/** Calls of the session, in process. */
export const inProcess: OpenTransport = async (vault, { caller }) => ({
  send: senderOf(vault, vault.as(caller), caller),
  isInProcess: true,
  carried: (request) => request,
  close: async () => {},
})

/** A layer between the caller and the vault that also has the owner's session. In negative controls it leaks. */
export type Layer = (send: Send, owner: Send) => Send

/** Calls a method of the session, or `explain` of the vault. */
export function senderOf(vault: Vault, session: object, caller: Caller): Send {
  return async ({ method, args }) => {
    if (method === 'explain') return Reflect.apply(vault.explain, vault, [caller, ...args])
    return Reflect.apply(Reflect.get(session, method), session, args)
  }
}

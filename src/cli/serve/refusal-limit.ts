/** How often credentials are refused before their source, or their key id, has to wait. What is remembered has a bound. */
import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'

/** A refused credential: from where, and which. */
export interface RefusedCredential {
  readonly address: string | undefined
  /** As it was sent; undefined for none. */
  readonly credential: string | undefined
}

/** The limit of refused credentials. */
export interface RefusalLimit {
  /** Returns how long a request has to wait, in milliseconds, and because of what; undefined if it can go on. Reads it only if there were refusals. */
  waitOf(request: () => RefusedCredential): { readonly ms: number; readonly of: 'source' | 'key' } | undefined
  /** Counts a refusal. Returns what has reached its limit with this one, if anything. */
  refused(names: RefusedNames): 'source' | 'key' | undefined
  /** Notes that a key is in use, so that wrong secrets with its id do not keep it out. Returns true if that is new, or was noted a while ago. */
  accepted(key: string): boolean
  /** The most names of one kind that are remembered now. */
  remembered(): number
}

/** What refusals are counted by: a key id, or the digest of another credential. It holds no secret, so that processes can pass it to each other. */
export interface RefusedNames {
  readonly source: string
  readonly key: string | undefined
}

/** The numbers of a limit. */
export interface RefusalLimitOptions {
  readonly failuresPerSource: number
  readonly failuresPerKey: number
  /** Sources, and keys, that are remembered. */
  readonly remembered: number
  /** Returns the time in milliseconds. */
  now(): number
}

/** Time in which refusals are counted together, in milliseconds. */
const WINDOW_MS = 60_000
/** Time for which a key is in use after it was accepted, in milliseconds. */
const IN_USE_MS = 3_600_000
/** Time after which an acceptance is noted again: a key that is used never ceases to be in use, or wrong secrets would keep it out then. */
const NOTED_MS = 60_000

/** Time between two looks for windows that have ended, in milliseconds. A Map is slow to find its oldest entry after many were deleted, so each look is for many. */
const FORGET_MS = 1000
/** The part of what is remembered that is forgotten at once, for the same reason. */
const FORGOTTEN_PART = 16

/** Returns a limit without refusals. */
export function createRefusalLimit({ failuresPerSource, failuresPerKey, remembered, now }: RefusalLimitOptions): RefusalLimit {
  const sources = createCounts(remembered)
  const keys = createCounts(remembered)
  const inUse = new Map<string, number>()
  const isWithin = (key: string, ms: number): boolean => (inUse.get(key) ?? Number.NEGATIVE_INFINITY) > now() - ms
  const isInUse = (key: string): boolean => isWithin(key, IN_USE_MS)
  return {
    waitOf(request) {
      // Nearly always there is nothing to look for.
      if (sources.size() === 0) return undefined
      const { source, key } = namesOf(request())
      const ofSource = sources.waitOf(source, failuresPerSource, now())
      if (ofSource > 0) return { ms: ofSource, of: 'source' }
      const ofKey = key === undefined || isInUse(key) ? 0 : keys.waitOf(key, failuresPerKey, now())
      return ofKey > 0 ? { ms: ofKey, of: 'key' } : undefined
    },
    refused({ source, key }) {
      const ofSource = sources.add(source, now())
      const ofKey = key === undefined ? 0 : keys.add(key, now())
      if (ofSource === failuresPerSource) return 'source'
      return ofKey === failuresPerKey && key !== undefined && !isInUse(key) ? 'key' : undefined
    },
    accepted(key) {
      if (isWithin(key, NOTED_MS)) return false
      inUse.delete(key)
      keepBelow(inUse, remembered)
      inUse.set(key, now())
      return true
    },
    remembered: () => Math.max(sources.size(), keys.size(), inUse.size),
  }
}

/** Returns what a refused credential is counted by. */
export function namesOf({ address, credential }: RefusedCredential): RefusedNames {
  const source = sourceOf(address ?? '')
  if (credential === undefined) return { source, key: undefined }
  return { source, key: keyIdOf(credential) ?? createHash('sha256').update(credential).digest('base64url') }
}

/** A client of IPv6 has a whole network of 64 bits. */
function sourceOf(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('::')
  const groups = head.split(':')
  const missing = tail === undefined ? 0 : 8 - groups.length - tail.split(':').length
  return [...groups, ...Array.from({ length: Math.max(missing, 0) }, () => '0'), ...(tail ?? '').split(':')].slice(0, 4).join(':')
}

const KEY_ID = /^sr_([0-9a-f-]{36})_/

/** Returns the key id of an API key; undefined for any other credential. */
export function keyIdOf(credential: string): string | undefined {
  return KEY_ID.exec(credential)?.[1]
}

/** Refusals by name, in windows. */
interface Counts {
  size(): number
  /** Returns the number with this one. */
  add(name: string, now: number): number
  waitOf(name: string, most: number, now: number): number
}

function createCounts(bound: number): Counts {
  // In the order in which windows end.
  const windows = new Map<string, { count: number; readonly end: number }>()
  let forgotAt = Number.NEGATIVE_INFINITY
  return {
    size: () => windows.size,
    add(name, now) {
      const window = windows.get(name)
      if (window !== undefined && window.end > now) {
        return ++window.count
      }
      windows.delete(name)
      if (now - forgotAt >= FORGET_MS) {
        forgetEnded(windows, now)
        forgotAt = now
      }
      keepBelow(windows, bound)
      windows.set(name, { count: 1, end: now + WINDOW_MS })
      return 1
    },
    waitOf(name, most, now) {
      const window = windows.get(name)
      return window === undefined || window.count < most ? 0 : Math.max(0, window.end - now)
    },
  }
}

function forgetEnded(windows: Map<string, { readonly end: number }>, now: number): void {
  for (const [name, { end }] of windows) {
    if (end > now) return
    windows.delete(name)
  }
}

/** Forgets the oldest if there is no place for one more. */
function keepBelow(known: Map<string, unknown>, bound: number): void {
  if (known.size < bound) return
  let left = Math.ceil(bound / FORGOTTEN_PART)
  for (const name of known.keys()) {
    if (left-- === 0) return
    known.delete(name)
  }
}

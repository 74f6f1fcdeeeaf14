/** The root keys of a catalog: the key provider wraps the active one and a pending one, and the active one seals all others in one entry, so that opening asks the provider once. */
import type { KeyProvider, KeyRing, KeyRingFactory, RootKey, RootKeyUse, WrappedKey } from '../ports/crypto.ts'
import type { Row } from '../ports/storage.ts'
import { openEntry, readVersion, sealEntry } from '../sealing/envelope.ts'
import { readU16, toUtf8 } from '../util/bytes.ts'
import { append } from '../util/lists.ts'
import { type CatalogKeys, type CatalogState, damaged } from './catalog-entries.ts'

/** Length of a root key in bytes. */
export const ROOT_BYTES = 32
/** Length of a root key in the entry of the ring, in bytes: the version 2, the key 32. */
const ITEM_BYTES = 2 + ROOT_BYTES

/** The name of the row of a wrapped root key. */
export function rootEntry(version: number): string {
  return `root/${version}`
}

/** Returns the associated data that binds a wrapped root key to its vault and version. */
export function rootAssociatedData(vaultId: string, version: number): Uint8Array {
  return toUtf8(`strongroom/root/${version}/${vaultId}`)
}

/** Returns root keys sealed for the row `id`: who has the active key may have those before it. A pending key is never among them: a stolen key would open its successor. */
export function sealRing(keys: CatalogKeys, id: number, roots: readonly RootKey[]): Uint8Array {
  const bytes = new Uint8Array(roots.length * ITEM_BYTES)
  for (const [index, { version, key }] of roots.entries()) {
    const start = index * ITEM_BYTES
    bytes[start] = version >>> 8
    bytes[start + 1] = version
    bytes.set(key, start + 2)
  }
  const sealed = sealEntry({ ...keys, kind: 'ring', id }, bytes)
  bytes.fill(0)
  return sealed
}

/** Returns the root keys of the entry, which the caller wipes. Throws `data_loss` if it is missing or fails authentication. */
export function openRing(keys: CatalogKeys, row: Row | undefined): RootKey[] {
  const bytes = row?.content instanceof Uint8Array ? openEntry({ ...keys, kind: 'ring', id: row.id }, row.content) : undefined
  if (bytes === undefined) throw damaged('the older root keys in the catalog are missing or failed authentication')
  const roots: RootKey[] = []
  for (let start = 0; start < bytes.length; start += ITEM_BYTES)
    roots.push({ version: readU16(bytes, start), key: bytes.slice(start + 2, start + ITEM_BYTES) })
  bytes.fill(0)
  return roots
}

/** Overwrites root keys. */
export function wipeRoots(roots: readonly RootKey[]): void {
  for (const { key } of roots) key.fill(0)
}

/** What root keys are read from. */
export interface RootKeyRows {
  readonly keys: Pick<KeyProvider, 'unwrap'>
  readonly keyRingFactory: KeyRingFactory
  readonly vaultId: string
  readonly vault: Uint8Array
  /** The rows of the catalog by their names. */
  readonly entries: ReadonlyMap<string, Row>
}

/** Asks the key provider for a root key, which the caller wipes. Throws `data_loss` if it is missing or malformed. */
export async function unwrapRoot({ keys, vaultId, entries }: Omit<RootKeyRows, 'vault'>, version: number): Promise<RootKey> {
  const row = entries.get(rootEntry(version))
  if (row === undefined) throw damaged(`root key ${version} is missing from the catalog`)
  return { version, key: await keys.unwrap(wrappedRoot(row), rootAssociatedData(vaultId, version)) }
}

/** Returns the wrapped root key of a row. Throws `data_loss` if it is malformed. */
export function wrappedRoot({ key_id: keyId, content }: Row): WrappedKey {
  if (typeof keyId !== 'string' || !(content instanceof Uint8Array)) throw damaged('a root key in the catalog is malformed')
  return { keyId, bytes: content }
}

/** Returns the versions that a ring of a state uses. Throws `data_loss` if none is active. */
export function rootKeyUse(state: KeyUseState): RootKeyUse {
  const { roots, lookupVersion } = state
  const active = roots.find((root) => root.state === 'active')
  if (active === undefined) throw damaged('no root key in the catalog is active')
  return { activeVersion: active.version, lookupVersion, lookupVersions: lookupVersionsOf(state) }
}

/** What a state says of the use of root keys. */
type KeyUseState = Pick<CatalogState, 'roots' | 'lookupVersion' | 'digestVersion'>

/** Returns the versions of the root keys that look up, first that of new digests. */
export function lookupVersionsOf({ roots, digestVersion }: Pick<CatalogState, 'roots' | 'digestVersion'>): number[] {
  const others = roots.flatMap(({ version, state }) => (state === 'lookup' && version !== digestVersion ? [version] : []))
  return [digestVersion, ...others]
}

/** Returns a ring with the key that the entry of the schema is sealed with: `known`, if it has it, else one of that key alone. */
export async function firstRing(rows: RootKeyRows, known: KeyRing | undefined): Promise<KeyRing> {
  const content = rows.entries.get('schema')?.content
  if (content === undefined) throw damaged('the catalog has no schema')
  const version = content instanceof Uint8Array ? readVersion(content, 0, content.length) : 0
  if (version === 0) throw damaged('the schema in the catalog failed authentication')
  if (known?.hasVersion(version) === true) return known
  const root = await unwrapRoot(rows, version)
  try {
    return rows.keyRingFactory.createRing(rows.vaultId, [root])
  } finally {
    wipeRoots([root])
  }
}

/** Returns the ring of a state. Its keys come from `first`, from the entry of the ring, and a pending one from the key provider. A key that is not listed is never used. */
export async function ringOf(rows: RootKeyRows, first: KeyRing, state: KeyUseState): Promise<KeyRing> {
  const use = rootKeyUse(state)
  const listed = state.roots.map(({ version }) => version)
  const kept = listed.filter((version) => first.hasVersion(version))
  const opened = kept.length === listed.length ? [] : openRing({ ring: first, vault: rows.vault }, rows.entries.get('ring'))
  try {
    const more = opened.filter(({ version }) => listed.includes(version) && !kept.includes(version))
    const rest = listed.filter((version) => !kept.includes(version) && !more.some((root) => root.version === version))
    const unwrapped = await Promise.all(rest.map((version) => unwrapRoot(rows, version)))
    append(opened, unwrapped)
    return first.withRoots(kept, [...more, ...unwrapped], use)
  } finally {
    wipeRoots(opened)
  }
}

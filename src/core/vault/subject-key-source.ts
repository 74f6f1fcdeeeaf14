/** Gives the storage of a vault the keys of its subjects, as its catalog says now whether there are any. */
import type { Catalog } from '../catalog/open-catalog.ts'
import type { StorageHandle } from '../ports/storage.ts'
import type { Clock } from '../ports/time.ts'
import { subjectsWithKeys } from '../schema/own-keys.ts'
import type { SchemaRules } from '../schema/schema-rules.ts'
import { assertKeysAreHere } from '../subject-keys/key-rows.ts'
import type { KeyedStorage } from '../subject-keys/keyed-storage.ts'
import { nowMs } from '../util/time.ts'

/** Gives the storage its keys. Throws `failed_precondition` if these are in another one than before. */
export async function beginKeys(
  keyed: KeyedStorage,
  catalog: Catalog,
  { storage, clock }: { readonly storage: StorageHandle; readonly clock: Clock },
  rules: SchemaRules | undefined,
): Promise<void> {
  const { barrier } = catalog
  const hasKeys = (of: SchemaRules): boolean => subjectsWithKeys(of).size > 0
  let known = catalog.state.schema
  let isKnown = hasKeys(known.rules)
  keyed.begin({
    barrier,
    reload: catalog.reload,
    nowMs: () => nowMs({ clock }),
    hasKeys() {
      const { schema } = catalog.state
      if (schema !== known) {
        known = schema
        isKnown = hasKeys(schema.rules)
      }
      return isKnown
    },
  })
  if (isKnown || hasKeys(rules ?? {})) await assertKeysAreHere(storage, barrier, !isKnown)
}

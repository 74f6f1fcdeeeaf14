/** What this process has open, as the system names it. */
import { existsSync, readdirSync, readlinkSync } from 'node:fs'

const DESCRIPTORS = '/proc/self/fd'

/** The targets of the descriptors: a path, or a kind such as `socket:[1]`. Empty where the system does not show them, as on macOS. */
export function openDescriptors(): readonly string[] {
  if (!existsSync(DESCRIPTORS)) return []
  return readdirSync(DESCRIPTORS).flatMap((name) => {
    try {
      return [readlinkSync(`${DESCRIPTORS}/${name}`)]
    } catch {
      return [] // That of the listing itself is closed by now.
    }
  })
}

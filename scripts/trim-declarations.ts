/** Removes from the built declarations where a sentence comes from, if that is no file of the package: the specification, and decisions, which the sources name by their number. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = 'dist'
const SOURCE = /\s+(?:\* )?Source: (?:specification, "[^"]*"|docs\/decisions\/\d+)\./g

for (const name of readdirSync(FOLDER).filter((one) => /\.d\.c?ts$/.test(one))) {
  const path = join(FOLDER, name)
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(SOURCE, ''))
}

/** The software bill of materials: its shape, what is in it, and that it names what the lock file has. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import * as z from 'zod'
import { BUNDLED_PACKAGES } from '../../scripts/bundled-packages.ts'
import { sbomText } from '../../scripts/sbom.ts'

const manifest = readJson('package.json')
const { packages } = readJson('package-lock.json')

const purl = z.string().regex(/^pkg:npm\/(%40[a-z0-9-]+\/)?[a-z0-9._-]+@\d+\.\d+\.\d+$/)
const license = z.union([
  z.strictObject({ license: z.strictObject({ id: z.string() }) }),
  z.strictObject({ expression: z.string() }),
])
const component = z.strictObject({
  type: z.literal('library'),
  'bom-ref': purl,
  name: z.string().min(1),
  version: z.string().min(1),
  scope: z.literal('required'),
  hashes: z.array(z.strictObject({ alg: z.literal('SHA-512'), content: z.string().regex(/^[0-9a-f]{128}$/) })).length(1),
  licenses: z.array(license).length(1),
  purl,
})
/** The part of CycloneDX 1.6 that the document uses. */
const shape = z.strictObject({
  $schema: z.literal('http://cyclonedx.org/schema/bom-1.6.schema.json'),
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.6'),
  version: z.literal(1),
  metadata: z.strictObject({
    component: component.pick({ type: true, 'bom-ref': true, name: true, version: true, licenses: true, purl: true }),
  }),
  components: z.array(component),
  dependencies: z.array(z.strictObject({ ref: purl, dependsOn: z.array(purl) })),
})

const document = shape.parse(JSON.parse(sbomText()))
const nameOf = (one: { readonly name: string }): string => one.name

it('describes the package itself', () => {
  const { name, version, purl } = document.metadata.component
  expect({ name, version, purl }).toEqual({
    name: 'strongroom',
    version: manifest.version,
    purl: `pkg:npm/strongroom@${manifest.version}`,
  })
})

it('has every package that is built in, and there is no other dependency', () => {
  expect(document.components.map(nameOf)).toEqual(BUNDLED_PACKAGES)
  // A package that is installed beside ours belongs into the document, too.
  expect(manifest.dependencies).toBeUndefined()
})

it('has the versions, licenses and hashes of the lock file', () => {
  for (const { name, version, hashes, licenses } of document.components) {
    const locked = packages[`node_modules/${name}`]
    expect([version, licenses]).toEqual([locked.version, [{ license: { id: locked.license } }]])
    expect(Buffer.from(hashes[0]?.content ?? '', 'hex').toString('base64')).toBe(locked.integrity.slice('sha512-'.length))
  }
})

it('names each package once, and what each depends on is one of them', () => {
  const refs = document.components.map((one) => one['bom-ref'])
  expect(new Set(refs).size).toBe(refs.length)
  expect(document.dependencies.map(({ ref }) => ref)).toEqual([document.metadata.component['bom-ref'], ...refs])
  for (const { dependsOn } of document.dependencies) expect(refs).toEqual(expect.arrayContaining(dependsOn))
})

it('is the same text each time', () => {
  expect(sbomText()).toBe(sbomText())
})

/** Returns the JSON of a file at the top of the repository. */
function readJson(name: string) {
  return JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'))
}

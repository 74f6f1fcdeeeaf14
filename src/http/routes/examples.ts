/** What the examples of all routes are about: one vault, one person, and a file. A test sends every example to a vault that has them. */

/** Ids and tokens have the form of those of a vault; the rest is what the vault of the test holds. */
export const EXAMPLE = {
  vaultID: 'acme',
  table: 'customers',
  id: '0b7d1f5e-6a3c-4b8e-9f20-5d1c7e4a9b36',
  otherID: '4e2a9c80-1d57-4f63-8b9e-a07c3f6d2e15',
  nameToken: '7c9e2d41-85b0-4a6f-b3d8-1f0e6c5a2b97',
  emailToken: 'd35f8a16-2c74-4e09-a1b6-9e8d7f40c352',
  ticket: 'Zm9yLWEtcGhvdG8',
  uploadTicket: 'Zm9yLWFuLXVwbG9hZA',
  assertion: 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJyZXBvcnRzIn0.c2lnbmF0dXJl',
  accessToken: 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJyZXBvcnRzIn0.c2lnbmF0dXJl',
  fields: { name: 'Ann Bell', email: 'ann@acme.example', country: 'SE' },
  /** The same as a read without a redaction shows them. */
  shown: { name: 'A*******', email: 'ann@acme.example', country: 'SE' },
  tokens: { name: '7c9e2d41-85b0-4a6f-b3d8-1f0e6c5a2b97', email: 'd35f8a16-2c74-4e09-a1b6-9e8d7f40c352' },
  photo: { fileName: 'ann.png', fileSizeKB: 1, fileType: 'image/png' },
  time: '2026-01-15T09:30:00.000Z',
  /** As events and updates have it. */
  preciseTime: '2026-01-15T09:30:00.000000000Z',
} as const

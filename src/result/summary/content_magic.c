// SPDX-License-Identifier: Apache-2.0
// Recognises types of binary data by their first bytes.
#include "result/summary/content_kind.h"

struct magic {
  str bytes;
  size_t at;
  const char *what;
};

static const struct magic magics[] = {
    {STR("\x89PNG\r\n\x1a\n"), 0, "PNG image"},
    {STR("\xff\xd8\xff"), 0, "JPEG image"},
    {STR("GIF8"), 0, "GIF image"},
    {STR("WEBP"), 8, "WebP image"},
    {STR("BM"), 0, "BMP image"},
    {STR("II*\0"), 0, "TIFF image"},
    {STR("MM\0*"), 0, "TIFF image"},
    {STR("WAVE"), 8, "WAV audio"},
    {STR("ID3"), 0, "MP3 audio"},
    {STR("OggS"), 0, "Ogg media"},
    {STR("fLaC"), 0, "FLAC audio"},
    {STR("ftyp"), 4, "MP4 media"},
    {STR("%PDF-"), 0, "PDF document"},
    {STR("PK\x03\x04"), 0, "ZIP archive (or an office document)"},
    {STR("\x1f\x8b"), 0, "gzip archive"},
    {STR("BZh"), 0, "bzip2 archive"},
    {STR("\xfd"
         "7zXZ"),
     0, "xz archive"},
    {STR("\x28\xb5\x2f\xfd"), 0, "zstd archive"},
    {STR("7z\xbc\xaf"), 0, "7-Zip archive"},
    {STR("ustar"), 257, "tar archive"},
    {STR("SQLite format 3"), 0, "SQLite database"},
    {STR("\x7f"
         "ELF"),
     0, "ELF program"},
    {STR("MZ"), 0, "Windows program"},
    {STR("\0asm"), 0, "WebAssembly module"},
    {STR("PAR1"), 0, "Parquet file"},
    {STR("\xca\xfe\xba\xbe"), 0, "Java class"},
    {STR("wOFF"), 0, "WOFF font"},
    {STR("<?xml"), 0, "XML document"},
    {STR("<svg"), 0, "SVG image"},
};

const char *content_magic(str bytes) {
  for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
    const struct magic *m = &magics[i];
    if (bytes.n > m->at && str_starts(str_from(bytes, m->at), m->bytes)) return m->what;
  }
  return NULL;
}

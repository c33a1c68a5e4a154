"""The words of the report, in English and in Chinese."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

Language: TypeAlias = Literal["en", "zh"]

CHINESE = {
    "Duplicates in {name}": "{name} 中的重复文档",
    "Made {time}": "生成时间：{time}",
    "Rule: {rule}": "判定规则：{rule}",
    "Skip to the groups": "跳到分组",
    "Counts": "统计",
    "documents": "文档",
    "{count:,} more without a fingerprint": "另有 {count:,} 篇没有指纹",
    "groups": "分组",
    "with {count:,} members": "共 {count:,} 个成员",
    "members besides the heads": "组首以外的成员",
    "{share} of the documents": "占全部文档的 {share}",
    "exact duplicates": "完全重复",
    "of the head of their group": "与所在组的组首相比",
    "near-duplicates": "近似重复",
    "other members of groups": "组内其他成员",
    "too short": "文本太短",
    "for a fingerprint": "无法计算指纹",
    "Histograms": "分布图",
    "Group sizes": "分组大小",
    "members": "成员数",
    "Distances from the head": "与组首的汉明距离",
    "bits": "比特数",
    "{least:,} or more": "{least:,} 及以上",
    "{least:,} to {most:,}": "{least:,}–{most:,}",
    "no distance": "无距离",
    "Striped: beyond the distance of the rule.": "斜纹：超出规则允许的距离。",
    "All groups": "全部分组",
    "The largest of {groups:,} groups: {count:,}": "共 {groups:,} 组，这里列出最大的 {count:,} 组",
    "The head names the group. Below it stand other members, the farthest from the head first.": (
        "分组以组首的编号命名；其他成员列在下面，离组首最远的排在最前。"
    ),
    "{old} are only in the head, {new} only in the member.": "{old}只出现在组首里，{new}只出现在该成员里。",
    "These words": "这样的词",
    "these words": "这样的词",
    "{badge} marks a member that is no duplicate of the head. Other members connect the two. {command} keeps it.": (
        "标有{badge}的成员并不是组首的重复，它是通过其他成员进入本组的；{command} 会保留它。"
    ),
    "outside the rule": "规则之外",
    "There are no groups.": "没有分组。",
    "{count:,}{unit} members{end}": "{count:,}{unit} 篇{end}",
    "Head {id}": "组首 {id}",
    " and {count:,} more": "，另有 {count:,} 篇",
    "{count:,} more that are no exact duplicates of the head": "另有 {count:,} 篇与组首不完全相同",
    "Near misses": "“差一点”的文档对",
    "These pairs are just outside the rule, and in different groups. If many of them are duplicates, the rule is too "
    "strict. They come from a random sample.": (
        "下面每一对都只比规则差一点，并且分在不同的组里，取自随机样本。如果其中有很多其实是重复的，说明规则太严。"
    ),
    "{old} are only in the first document, {new} only in the second.": "{old}只出现在前一篇里，{new}只出现在后一篇里。",
    "The sample has no such pair.": "样本中没有这样的文档对。",
    "{a} and {b}": "{a} 与 {b}",
    "similarity {similarity:.2f}": "相似度 {similarity:.2f}",
    "1 bit": "1 比特",
    "{count} bits": "{count} 比特",
    "The same words. White space, punctuation, or the form of characters may differ.": (
        "词语完全相同，差别只在空白、标点或字形。"
    ),
    "{count:,} more differences": "还有 {count:,} 处不同",
    "no text": "没有文本",
    "{text}. ": "{text}。",
    "exact duplicates only": "只认完全相同的文本",
    "at most {count} bits differ": "汉明距离不超过 {count} 比特",
    "at most 1 bit differs": "汉明距离不超过 1 比特",
    "the texts have a similarity of {least:g} or more ({measure})": "文本相似度不低于 {least:g}（{measure}）",
    "Jaccard or Levenshtein": "Jaccard 或 Levenshtein",
    "the texts have nearly the same numbers": "文本中的数字基本一致",
    "their times differ by at most {within}": "时间相差不超过 {within}",
    ", and ": "，并且",
}
"""The Chinese for each English text. Their fields are those of :meth:`str.format`."""


def said(language: Language, english: str, **values: Any) -> str:
    """Return a text of the report in a language.

    :param english: one of the texts of ``CHINESE``.
    :param values: for its fields.
    """
    return (CHINESE[english] if language == "zh" else english).format(**values)
